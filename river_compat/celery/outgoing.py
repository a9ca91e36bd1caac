"""Rows that belong together: steps of a workflow, or what a running task leaves for its end.

They are collected call by call, so that an overridden `apply_async` sees each, and written at once.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

from river_compat.celery import publish_telling
from river_compat.celery.message import Message
from river_core.insert import InsertParams
from river_core.outcome import FollowUp

OPTION = "river_step"
"""The option of `apply_async` by which a workflow tells its steps from other calls."""


class ToWrite(Protocol):
    """A row that is to be written, whichever way it was made."""

    @property
    def row(self) -> InsertParams:
        """The row."""
        ...

    @property
    def message(self) -> Message:
        """The call that the row stores."""
        ...

    @property
    def handle(self) -> Any:
        """The handle that learns the row's id."""
        ...

    @property
    def options(self) -> dict[str, Any]:
        """The options of the call."""
        ...

    @property
    def task_id(self) -> str:
        """The id of the task."""
        ...


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A row that is to be written, and the handle that learns its id."""

    row: InsertParams
    message: Message
    handle: Any
    options: dict[str, Any]

    @property
    def task_id(self) -> str:
        """The id of the task."""
        return self.message.task_id


@dataclass(slots=True)
class Batch:
    """Rows that are written in one transaction, all or none."""

    items: list[ToWrite] = field(default_factory=list)
    key: str = field(default_factory=lambda: uuid.uuid4().hex[:16])
    """Part of the names of its waiting rows, so that batches can be written together."""

    def fresh_name(self) -> str:
        """Return a name for a waiting row."""
        return f"{self.key}:{uuid.uuid4().hex[:12]}"


_collecting: ContextVar[Batch | None] = ContextVar("river_celery_outgoing", default=None)


def current() -> Batch | None:
    """Return the batch that calls are put into here; None where they are sent at once."""
    return _collecting.get()


@contextmanager
def collected(batch: Batch | None) -> Iterator[None]:
    """Put the calls of the block into a batch; None sends them at once again."""
    token = _collecting.set(batch)
    try:
        yield
    finally:
        _collecting.reset(token)


def rows_written_later(batch: Batch) -> tuple[FollowUp, ...]:
    """Return the rows of a batch as what is written with the end of a task; receivers hear of them now."""
    publish_telling.tell_after_all(batch.items)
    return tuple(FollowUp(item.row) for item in batch.items)
