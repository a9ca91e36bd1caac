"""What a keeper needs of the slots that it is part of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from river_core.loss import Loss
from river_core.worker.completion import Completion
from river_core.worker.running_job import RunningJob

if TYPE_CHECKING:
    from river_core.worker.processes.keeper import Keeper


class Pool(Protocol):
    """What a keeper needs of its slots."""

    closing: bool
    told: dict[str, Any]
    """What every new child is told, by key."""

    def next_job(self, keeper: Keeper) -> RunningJob | None:
        """Wait for a job; None when the keeper is to leave."""
        ...

    def more_jobs(self, count: int) -> list[RunningJob]:
        """Return up to `count` jobs that wait now."""
        ...

    def put_back(self, jobs: list[RunningJob]) -> None:
        """Let other children have jobs that did not start."""
        ...

    def write(self, running: RunningJob, completion: Completion) -> None:
        """Write the outcome of a job that has not left its child yet."""
        ...

    def ended(self, running: RunningJob, completion: Completion | None, seconds: float) -> None:
        """Take the end of a job, after a run of so many seconds."""
        ...

    def lost(self, running: RunningJob, loss: Loss | None) -> None:
        """Take the loss of a job's child; None stands for a child that the worker ended by itself."""
        ...
