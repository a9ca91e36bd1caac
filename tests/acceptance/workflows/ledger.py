"""The ledger: runs of bodies as the bodies note them, kills as whoever kills notes them, on one clock."""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

LEDGER = "WORKFLOWS_LEDGER"
SECONDS_TO_WRITE = 10.0
"""How long after the end of a body its worker may still be at writing the outcome, on a busy machine."""
SECONDS_TO_BEGIN = 2.0
"""How long before a body begins its worker may have been killed: the child had the job already."""
TAIL_BYTES = 16_384


@dataclass(frozen=True)
class Run:
    """One run of a body: what it is, its row and attempt, and the processes in which it runs."""

    key: str
    row: int
    attempt: int
    pid: int
    worker: str
    began: float = 0.0
    ended: float | None = None


@dataclass(frozen=True)
class Kill:
    """What makes a body run again: a child or a worker was killed, or a row was set back from outside.

    `at` is just before, `until` just after.
    """

    at: float
    until: float
    pid: int | None = None
    worker: str | None = None
    row: int | None = None

    def explains(self, run: Run, next_run: Run) -> bool:
        """Whether it came while the run lasted, and so may be why there is another."""
        if self.row is not None:
            return self.row == run.row and run.began <= self.until and self.at <= next_run.began
        if self.pid != run.pid and self.worker != run.worker:
            return False
        first = run.began - (SECONDS_TO_BEGIN if self.worker is not None else 0.0)
        last = next_run.began if run.ended is None else run.ended + SECONDS_TO_WRITE
        return first <= self.until and self.at <= min(last, next_run.began)


def write_run(run: Run, what: str) -> None:
    """Append one line, whole whatever kills the process."""
    line = json.dumps([what, time.monotonic(), run.key, run.row, run.attempt, run.pid, run.worker]) + "\n"
    ledger = os.open(os.environ[LEDGER], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(ledger, line.encode())
    finally:
        os.close(ledger)


def read_runs(lines: list[str]) -> dict[str, list[Run]]:
    """Return the runs by key, in the order in which they began."""
    runs: dict[str, list[Run]] = defaultdict(list)
    for line in lines:
        what, at, key, row, attempt, pid, worker = json.loads(line)
        if what == "begin":
            runs[key].append(Run(key, row, attempt, pid, worker, at))
            continue
        place = next(
            n for n, run in enumerate(runs[key]) if (run.row, run.attempt, run.pid) == (row, attempt, pid)
        )
        begun = runs[key][place]
        runs[key][place] = Run(key, row, attempt, pid, worker, begun.began, at)
    return dict(runs)


def last_lines(ledger: Path) -> list[str]:
    """Return whole lines of the ledger's end."""
    with ledger.open("rb") as file:
        file.seek(max(0, ledger.stat().st_size - TAIL_BYTES))
        lines = file.read().decode().splitlines(keepends=True)
    return [line for line in lines[1:] if line.endswith("\n")]


def running_now(lines: list[str]) -> list[Run]:
    """Return what has begun and not ended in the lines; what ended without a begin among them is left out."""
    begun: dict[tuple[str, int, int], Run] = {}
    for line in lines:
        what, at, key, row, attempt, pid, worker = json.loads(line)
        if what == "begin":
            begun[key, row, attempt] = Run(key, row, attempt, pid, worker, at)
        else:
            begun.pop((key, row, attempt), None)
    return list(begun.values())
