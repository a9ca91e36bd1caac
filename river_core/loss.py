"""Why an attempt could not end by itself, as values: what `Task.lost` decides about."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProcessDied:
    """The process that ran the attempt ended by itself; `status` is its wait status, None if unknown."""

    status: int | None

    @property
    def description(self) -> str:
        """How it ended: `signal 9 (SIGKILL)`, `exit code 3`."""
        if self.status is None:
            return "an unknown status"
        if os.WIFSIGNALED(self.status):
            return f"signal {os.WTERMSIG(self.status)} ({signal_name(os.WTERMSIG(self.status))})"
        return f"exit code {os.waitstatus_to_exitcode(self.status)}"


@dataclass(frozen=True, slots=True)
class TimeLimitReached:
    """The attempt ran longer than `seconds` and was ended from outside."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Terminated:
    """Somebody asked to end this attempt by a signal."""

    signal: int


@dataclass(frozen=True, slots=True)
class WorkerStopped:
    """The worker ended the attempt, because it stops or has lost the database."""


Loss = ProcessDied | TimeLimitReached | Terminated | WorkerStopped


def signal_name(number: int) -> str:
    """Return the name of a signal, or its number where it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
