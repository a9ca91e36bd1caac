"""`GroupResult`: the results of a group, under an id, which can be saved and found again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from river_compat.celery import _state
from river_compat.celery.result_members import ids_of
from river_compat.celery.result_set import ResultSet

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery


class GroupResult(ResultSet):
    """The results of a group, in its order; `parent` is the result of the step before it in a chain."""

    def __init__(
        self,
        id: Any = None,  # noqa: A002 - the parameter is Celery's
        results: Iterable[Any] | None = None,
        parent: Any = None,
        **kwargs: Any,
    ) -> None:
        """Take id and results."""
        self.id = id
        self.parent = parent
        super().__init__(results, **kwargs)

    @property
    def children(self) -> list[Any]:
        """The results."""
        return self.results

    # -- keeping

    def save(self, backend: Any = None) -> Any:
        """Keep the group in the database, so that `restore` finds it by its id."""
        return (backend or self.app.backend).save_group(self.id, self)

    def delete(self, backend: Any = None) -> None:
        """Forget the saved group; its tasks stay."""
        (backend or self.app.backend).delete_group(self.id)

    @classmethod
    def restore(cls, id: Any, backend: Any = None, app: Celery | None = None) -> GroupResult | None:  # noqa: A002
        """Return a saved group, None for an unknown one."""
        if backend is None:
            backend = (app or cls._app or _state.get_current_app()).backend
        group: GroupResult | None = backend.restore_group(id)
        return group

    # -- being a value

    def as_tuple(self) -> Any:
        """Return `((id, parent), members)`, all in the same form; `result_from_tuple` reads it."""
        return (self.id, self.parent and self.parent.as_tuple()), [
            result.as_tuple() for result in self.results
        ]

    def as_list(self) -> list[Any]:
        """Return the id and those of the parents."""
        return [self.id, *(self.parent.as_list() if self.parent is not None else ())]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle id, results and parent."""
        return GroupResult, (self.id, self.results, self.parent)

    def __bool__(self) -> bool:
        """Be true with an id or results."""
        return bool(self.id or self.results)

    def __eq__(self, other: object) -> bool:
        """Be equal to the same group with equal results and parent, and to its id."""
        if isinstance(other, GroupResult):
            return bool(other.id == self.id and other.results == self.results and other.parent == self.parent)
        return other == self.id if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        """Hash the id."""
        return hash(self.id)

    def __str__(self) -> str:
        """Return the id."""
        return str(self.id)

    def __repr__(self) -> str:
        """Show the id and those of the results."""
        return f"<{type(self).__name__}: {self.id} [{ids_of(self.results)}]>"
