"""`group` enqueue: from making the signatures to the GroupResult, no worker running; tasks a second.

Celery sends message by message, so a smaller group gives the same figure sooner; both are made alike.
"""

from __future__ import annotations

from typing import Any

from benchmarks.compare.figures import Figures, timed
from benchmarks.compare.sides import Ours, Theirs
from benchmarks.compare.tasks import IGNORED, KEPT

LINE = "group"


def line(results: str) -> str:
    """Return the name of a line."""
    return f"{LINE}, {results}"


def measure(
    figures: Figures, ours: Ours, theirs: Theirs, rounds: int, our_size: int, their_size: int
) -> None:
    """Measure so many rounds; the first calls of all are not counted."""
    for results in (KEPT, IGNORED):
        _send(ours, results, 100)
        _send(theirs, results, 100)
    for _ in range(rounds):
        for results in (KEPT, IGNORED):
            for side, size in ((ours, our_size), (theirs, their_size)):
                figures.add(line(results), side.name, _send(side, results, size))
                side.clear()


def _send(side: Any, results: str, size: int) -> float:
    """Send one group; return tasks a second."""
    group, task = _group_of(side), side.tasks.nothing(results)
    return size / timed(lambda: group(task.s() for _ in range(size)).delay())


def _group_of(side: Any) -> Any:
    if side.name == Ours.name:
        from river_compat.celery import group

        return group
    from celery import group as their_group

    return their_group
