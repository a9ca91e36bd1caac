"""Several results as one thing: its members, and what they say, read in one query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from river_compat.celery import _state
from river_compat.celery.async_result import AsyncResult
from river_compat.celery.eager_result import EagerResult
from river_compat.celery.result_base import ResultBase

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery


class Members(ResultBase):
    """The members of a `ResultSet`."""

    _app: Any = None

    def __init__(
        self, results: Iterable[Any] | None = None, app: Celery | None = None, **kwargs: Any
    ) -> None:
        """Take the results; the application is that of the first one unless it is given."""
        self._app = app or self._app
        self.results: list[Any] = results if isinstance(results, list) else list(results or ())

    @property
    def app(self) -> Any:
        """The application of the first member, or the current one."""
        if self._app is None:
            self._app = self.results[0].app if self.results else _state.get_current_app()
        return self._app

    @app.setter
    def app(self, app: Celery) -> None:
        self._app = app

    @property
    def backend(self) -> Any:
        """The backend of the application."""
        return self.app.backend

    @property
    def supports_native_join(self) -> bool | None:
        """Whether members are read together; None for an empty set."""
        return self.results[0].supports_native_join if self.results else None

    # -- members

    def add(self, result: Any) -> None:
        """Add a result, unless it is a member."""
        if result not in self.results:
            self.results.append(result)

    def remove(self, result: Any) -> None:
        """Remove a member, given as result or id; raises KeyError for another one."""
        try:
            self.results.remove(result)
        except ValueError:
            raise KeyError(result) from None

    def discard(self, result: Any) -> None:
        """Remove a member, given as result or id; another one is left alone."""
        if result in self.results:
            self.results.remove(result)

    def update(self, results: Iterable[Any]) -> None:
        """Add those that are no members."""
        for result in results:
            self.add(result)

    def clear(self) -> None:
        """Remove all members."""
        self.results[:] = []

    def _tasks(self) -> list[AsyncResult[Any]]:
        """Return the results of single tasks, those of groups in groups too."""
        found: list[AsyncResult[Any]] = []
        for result in self.results:
            if isinstance(result, Members):
                found.extend(result._tasks())
            elif isinstance(result, AsyncResult) and not isinstance(result, EagerResult):
                found.append(result)
        return found

    @contextmanager
    def _read_together(self) -> Iterator[None]:
        """Let all members answer from one query while the block runs."""
        asked = [task for task in self._tasks() if task._cache is None]
        for task, meta in self.backend.read_many(asked) if asked else ():
            task.glance(meta)
        try:
            yield
        finally:
            for task in asked:
                task.glance(None)

    # -- states

    def successful(self) -> bool:
        """Whether all have ended well."""
        with self._read_together():
            return all(result.successful() for result in self.results)

    def failed(self) -> bool:
        """Whether any has failed."""
        with self._read_together():
            return any(result.failed() for result in self.results)

    def waiting(self) -> bool:
        """Whether any has not ended."""
        with self._read_together():
            return any(not result.ready() for result in self.results)

    def ready(self) -> bool:
        """Whether all have ended."""
        with self._read_together():
            return all(result.ready() for result in self.results)

    def completed_count(self) -> int:
        """Return how many have ended well."""
        with self._read_together():
            return sum(int(result.successful()) for result in self.results)

    def maybe_throw(self, callback: Callable[[str, Any], Any] | None = None, propagate: bool = True) -> None:
        """Raise the exception of the first member that failed."""
        with self._read_together():
            for result in self.results:
                result.maybe_throw(callback=callback, propagate=propagate)

    maybe_reraise = maybe_throw

    # -- being a sequence

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the members."""
        return iter(self.results)

    def __getitem__(self, index: Any) -> Any:
        """Return the member at a place."""
        return self.results[index]

    def __len__(self) -> int:
        """Return how many members there are."""
        return len(self.results)

    def __eq__(self, other: object) -> bool:
        """Be equal to a set of equal members in the same order."""
        return other.results == self.results if isinstance(other, Members) else NotImplemented

    def __hash__(self) -> int:
        """Raise TypeError: members come and go."""
        raise TypeError(f"a {type(self).__name__} cannot be hashed")

    def __repr__(self) -> str:
        """Show the ids of the members."""
        return f"<{type(self).__name__}: [{ids_of(self.results)}]>"


def ids_of(results: Sequence[Any]) -> str:
    return ", ".join(str(result.id) for result in results)
