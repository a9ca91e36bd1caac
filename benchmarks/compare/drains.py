"""How fast one worker command works off tasks that do nothing; tasks a second.

A queue is filled before the worker starts. Time runs from the first task, which leaves a mark, until nothing
waits or runs any more and all results are written, as seen from outside after the last task left its mark.
Celery gets fewer tasks, so that both take a few seconds.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.compare.figures import Figures
from benchmarks.compare.sides import Drained, Ours, Theirs
from benchmarks.compare.tasks import IGNORED, KEPT

POOLS: dict[str, tuple[str, ...]] = {
    "prefork": ("-P", "prefork", "-c", "2"),
    "threads": ("-P", "threads", "-c", "10"),
    "solo": ("-P", "solo"),
}
FOR_REFERENCE = ("solo",)
LOOK_SECONDS = 0.01
GIVE_UP_SECONDS = 180.0


def line(pool: str, results: str) -> str:
    """Return the name of a line."""
    return f"drain {pool}, {results}"


def measure(
    figures: Figures,
    ours: Ours,
    theirs: Theirs,
    pools: tuple[str, ...],
    rounds: int,
    our_tasks: int,
    their_tasks: int,
) -> None:
    """Measure so many rounds, the sides in turn; what is for reference only is measured once."""
    for number in range(rounds):
        for pool in pools if number == 0 else [name for name in pools if name not in FOR_REFERENCE]:
            for results in (KEPT, IGNORED):
                for side, count in ((ours, our_tasks), (theirs, their_tasks)):
                    figures.add(line(pool, results), side.name, drain(side, pool, results, count))


def drain(side: Drained, pool: str, results: str, count: int) -> float:
    """Fill and drain once; return tasks a second."""
    side.clear()
    with tempfile.TemporaryDirectory(prefix="river-marks-") as directory:
        first, last = Path(directory, "first"), Path(directory, "last")
        side.fill(str(first), str(last), side.tasks.nothing(results), count)
        with side.worker(*POOLS[pool]):
            _wait(last.exists)
            _wait(lambda: side.is_done(results, count))
            ended = time.time()
        began = float(first.read_text())
    side.clear()
    return count / (ended - began)


def _wait(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + GIVE_UP_SECONDS
    while not holds():
        if time.monotonic() > until:
            raise SystemExit(f"a queue is not empty after {GIVE_UP_SECONDS:g} s")
        time.sleep(LOOK_SECONDS)
