"""What an executor hands to the completer: one finished attempt and what is to be written for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from river_core.job import JobRow
from river_core.outcome import StateChange
from river_core.worker.events import EventKind


@dataclass(frozen=True, slots=True)
class Completion:
    """One finished attempt on its way to the database."""

    row: JobRow
    change: StateChange
    decided: EventKind
    ran: tuple[datetime, datetime] | None = None
    """When the attempt began and ended."""


class Deletion(Completion):
    """A success whose row is deleted instead of completed."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class CompletedInTx(Completion):
    """The end of an attempt whose row the task has completed itself; `snapshot` is what it wrote."""

    snapshot: JobRow | None = None
