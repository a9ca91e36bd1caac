"""How a scheduler sends the task of an entry, and what it makes of a failure."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kombu import exceptions as kombu_errors

from river_compat.celery.beat_entry import evaluated_args, evaluated_kwargs
from river_core import errors

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

BEAT_HEADER = "celery_beat_task"

logger = logging.getLogger("celery.beat")


class SchedulingError(Exception):
    """A task could not be sent."""


class OutageError(Exception):
    """The database is out of reach: the task stays due."""


class RefusedError(Exception):
    """The task cannot be sent, now or later: this run is lost."""


class Dispatch(ABC):
    """The part of a scheduler that sends. `failure` is what the last call of `apply_async` raised."""

    app: Celery
    failure: BaseException | None = None
    _tasks_since_sync: int = 0
    _claimed = False

    producer: Any = None
    """There is no broker; Celery's schedulers hand this on to `apply_async`."""

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        """Send the task of an entry; a failure is logged."""
        logger.info("Scheduler: Sending due task %s (%s)", entry.name, entry.task)
        try:
            result = self.apply_async(entry, producer=producer, advance=False)
        except Exception as error:
            if not is_outage(error):
                logger.error("Message Error: %s", error, exc_info=True)  # noqa: G201 - as Celery logs it
        else:
            task_id = getattr(result, "id", None)
            logger.debug("%s sent.%s", entry.task, f" id->{task_id}" if task_id else "")

    def apply_async(self, entry: Any, producer: Any = None, advance: bool = True, **kwargs: Any) -> Any:
        """Send the task of an entry and return its result handle; `advance` counts the run first.

        Raises SchedulingError.
        """
        del kwargs
        entry = self.reserve(entry) if advance else entry
        try:
            return self._apply(entry, producer)
        except Exception as error:
            self.failure = error
            raise SchedulingError(f"Couldn't apply scheduled task {entry.name}: {error}") from error
        finally:
            self._tasks_since_sync += 1
            if not self._claimed and self.should_sync():
                self._do_sync()

    def _apply(self, entry: Any, producer: Any) -> Any:
        args, kwargs = evaluated_args(entry.args), evaluated_kwargs(entry.kwargs)
        options = {**(entry.options or {}), "headers": _with_mark((entry.options or {}).get("headers"))}
        if self._claimed:
            options["river_enqueue_in"] = "ambient"
        task = self.app.tasks.get(entry.task)
        if task is not None:
            return task.apply_async(args, kwargs, producer=producer, **options)
        return self.send_task(entry.task, args, kwargs, producer=producer, **options)

    def send_task(self, *args: Any, **kwargs: Any) -> Any:
        """Send a task that is not registered here, by its name."""
        return self.app.send_task(*args, **kwargs)

    @abstractmethod
    def reserve(self, entry: Any) -> Any:
        """Count a run of an entry, and return the entry after it."""

    @abstractmethod
    def should_sync(self) -> bool:
        """Whether it is time to write the entries."""

    @abstractmethod
    def _do_sync(self) -> None: ...

    def raise_failure(self) -> None:
        """Raise OutageError or RefusedError when the last task could not be sent."""
        failure, self.failure = self.failure, None
        if failure is None:
            return
        raise OutageError(str(failure)) if is_outage(failure) else RefusedError(str(failure))


def is_outage(error: BaseException) -> bool:
    """Whether an error, or one behind it, says that the database is out of reach."""
    return any(
        isinstance(cause, kombu_errors.OperationalError | errors.OperationalError) for cause in _causes(error)
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _with_mark(headers: Mapping[str, Any] | None) -> dict[str, Any]:
    return {**(headers or {}), BEAT_HEADER: True}
