"""How the ends of jobs get from their slots to the database: by the completer, or by the slot itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from river_core.job_handle import Inserter, Job
from river_core.loss import Loss
from river_core.worker.completion import Completion, WriteReceipt, call_after_write
from river_core.worker.event_loop import EventLoop
from river_core.worker.executor import Executor
from river_core.worker.running_job import RunningJob


class Turns(Protocol):
    """Lets a thread write an outcome itself, in two steps: see the completer."""

    def take_turn(self, completion: Completion) -> bool:
        """Take a completion; return whether the caller is to write it."""
        ...

    def write_turn(self) -> None:
        """Write what was taken."""
        ...


class Ends:
    """Hands over the ends of the jobs of some slots."""

    def __init__(
        self,
        executor: Executor,
        client: Inserter,
        finished: Callable[[Completion], None],
        turns: Turns | None,
        loop: EventLoop,
    ) -> None:
        """Hand completions to `finished`; by `turns` one that comes alone is written by its own thread."""
        self._executor = executor
        self._client = client
        self._finished = finished
        self._turns = turns
        self._loop = loop

    def put(self, completion: Completion, is_alone: bool) -> bool:
        """Hand a completion over; return whether it is to be written here, by `write_turn`."""
        if self._turns is not None and is_alone:
            return self._turns.take_turn(completion)
        self._finished(completion)
        return False

    def write_turn(self) -> None:
        """Write what `put` left to this thread."""
        if self._turns is not None:
            self._turns.write_turn()

    def write_loss(self, running: RunningJob, loss: Loss | None) -> None:
        """Write the end of an attempt that did not end by itself, None by a stop; who waits for that waits
        elsewhere.
        """
        job = Job(running.job.row, self._client)
        completion = self._executor.interrupted(job) if loss is None else self._executor.lost(job, loss)
        receipt = receipt_of(job)
        self._finished(completion if receipt is None else replace(completion, receipt=receipt))
        if receipt is not None:
            self._loop.beside(lambda: call_after_write(job, receipt.wait()))


def receipt_of(job: Job) -> WriteReceipt | None:
    """Return what tells of the write of an outcome, where somebody wants to hear of it."""
    return WriteReceipt() if job.powers is not None and job.powers.after_write else None
