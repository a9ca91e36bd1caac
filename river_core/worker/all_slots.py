"""The slots of all queues, asked and told as one."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from river_core.worker.jobs_here import JobHere
from river_core.worker.slots import ThreadSlots


class AllSlots(tuple[ThreadSlots, ...]):
    """All slots of a worker, each once; none before it has started."""

    __slots__ = ()

    def __new__(cls, slots: Iterable[ThreadSlots] = ()) -> AllSlots:
        """Take slots, of which queues may share some."""
        return super().__new__(cls, dict.fromkeys(slots))

    @property
    def active(self) -> int:
        """How many jobs are claimed and not finished."""
        return sum(slots.active for slots in self)

    @property
    def size(self) -> int:
        """How many jobs run at once at most."""
        return sum(slots.size for slots in self)

    @property
    def least(self) -> int:
        """How many child processes stay when there is little to do; 0 where jobs run in threads."""
        return sum(slots.least for slots in self)

    @property
    def pids(self) -> list[int]:
        """The processes in which jobs run, each once."""
        return list(dict.fromkeys(pid for slots in self for pid in slots.pids))

    def ids(self) -> list[int]:
        """Return the ids of all jobs."""
        return [job_id for slots in self for job_id in slots.ids()]

    def jobs_here(self) -> list[JobHere]:
        """Return the jobs as they are now, oldest first in each."""
        return [job for slots in self for job in slots.jobs_here()]

    def owns_current_thread(self) -> bool:
        """Return whether the caller is one of the threads that run jobs."""
        return any(slots.owns_current_thread() for slots in self)

    def open(self) -> None:
        """Get ready for jobs."""
        for slots in self:
            slots.open()

    def resize(self, size: int, least: int | None) -> None:
        """Let so many jobs run at once in each from now on; see `Worker.resize`."""
        for slots in self:
            slots.resize(size, least)

    def tell(self, key: str, told: Any) -> None:
        """Tell all child processes something; see `Worker.tell_children`."""
        for slots in self:
            slots.tell(key, told)

    def terminate(self, job_id: int, attempt: int, number: int) -> bool:
        """End one attempt, wherever it runs; return whether it was here."""
        return any(slots.terminate(job_id, attempt, number) for slots in self)

    def interrupt(self) -> None:
        """Tell every running job to end, and raise JobInterruptedError inside those that can hear it.

        Nothing begins afterwards, whatever claims on their way bring.
        """
        for slots in self:
            slots.refuse_new()
            slots.interrupt_all()

    def abandon(self) -> None:
        """End every running job as fast as can be, child processes by killing them."""
        for slots in self:
            slots.abandon()

    def give_back_waiting(self) -> None:
        """Give back what was claimed ahead and has no thread; producers must have ended."""
        for slots in self:
            slots.give_back_waiting()

    def give_back(self) -> None:
        """Write all jobs that are still here as interrupted."""
        for slots in self:
            slots.give_back()

    def wait_drained(self, until: float | None) -> bool:
        """Wait, until a monotonic time at most, for the last job to end; return whether it has."""
        return all(slots.wait_drained(seconds_left(until)) for slots in self)

    def close(self) -> None:
        """Let idle threads end."""
        for slots in self:
            slots.close()


def seconds_left(until: float | None) -> float | None:
    """Return the seconds until a monotonic time, None for one that never comes."""
    return None if until is None else max(until - time.monotonic(), 0.0)
