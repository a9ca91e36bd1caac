"""`delay()` of single tasks, beside the bare prepared INSERT of the very row that it writes; no worker runs.

Every contender in turn, call by call, in changing order; a figure is the median of a round, in seconds. Ours
and the bare INSERT commit durably, the lines with the opt-ins do not wait for the disk; Redis keeps nothing.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable

from benchmarks.compare.figures import Figures, timed_alone
from benchmarks.compare.sides import Ours, Relaxed, Theirs
from benchmarks.compare.tasks import IGNORED, KEPT
from benchmarks.messages import rows
from benchmarks.row import bare, noop_parameters

LINE = "delay"
BARE = "bare INSERT"
WARM = 20


def name(side: str, results: str) -> str:
    """Return the name of a contender."""
    return f"{side}, {results}"


def measure(figures: Figures, ours: Ours, relaxed: Relaxed, theirs: Theirs, rounds: int, calls: int) -> None:
    """Measure so many rounds of so many calls each."""
    _round(ours, relaxed, theirs, WARM)
    for _ in range(rounds):
        for contender, seconds in _round(ours, relaxed, theirs, calls).items():
            figures.add(LINE, contender, statistics.median(seconds))
        ours.clear()
        theirs.clear()


def _round(ours: Ours, relaxed: Relaxed, theirs: Theirs, calls: int) -> dict[str, list[float]]:
    statement = bare("insert")
    made = [noop_parameters(row) for row in rows(ours.app, ours.tasks.noop, calls)]  # each with its own id

    def insert() -> None:
        ours.connection.execute(statement, made.pop(), prepare=True).fetchone()

    ways: dict[str, Callable[[], object]] = {BARE: insert}
    for side in (ours, relaxed, theirs):
        ways |= {name(side.name, results): side.tasks.nothing(results).delay for results in (KEPT, IGNORED)}
    seconds: dict[str, list[float]] = {contender: [] for contender in ways}
    for _ in range(calls):
        for contender in random.sample(list(ways), len(ways)):
            seconds[contender].append(timed_alone(ways[contender]))
    return seconds
