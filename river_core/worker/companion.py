"""What an adapter runs beside a worker: it hears topics, and sees claimed rows before they get a place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from river_core.job import JobRow
from river_core.notifier import Payload
from river_core.outcome import Outcome
from river_core.service import Service

if TYPE_CHECKING:
    from river_core.worker.worker import Worker

Admitted = tuple[Sequence[JobRow], Sequence[tuple[JobRow, Outcome]]]
"""The rows that are to run, and those that are not, each with how its attempt ends."""


class Companion(Service):
    """A thread that lives as long as its worker. Override what is needed; `run_once` is the thread's turn."""

    worker: Worker | None = None
    """The worker, once it is made."""

    def topics(self) -> Mapping[str, Callable[[Payload], None]]:
        """Return what to call, by topic, in the thread that listens; it must be quick.

        Poll-only workers hear nothing.
        """
        return {}

    def before_claims(self) -> None:
        """Get ready, before anything is claimed. What it raises keeps the worker from starting."""

    def look_again(self) -> None:
        """Hear that notifications may have been missed."""

    def admit(self, rows: Sequence[JobRow]) -> Admitted:
        """See claimed rows before they have a place, and say which are to run.

        Called by the threads that claim. When it raises the rows are given back.
        """
        return rows, ()
