"""Measurements on workers that wait: call and get, a chord of many parts, and what is due in two seconds.

The workers of all sides run at the same time and take turns, call by call.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from benchmarks.compare.drains import POOLS
from benchmarks.compare.figures import Figures, timed, timed_alone
from benchmarks.compare.sides import Ours, Side, Theirs

CALL = "call and get"
CHORD = "chord"
COUNTDOWN = "countdown"
WARM = 20
DELAY_SECONDS = 2
SPACING_SECONDS = (0.05, 0.15)
TIMEOUT_SECONDS = 120
_RANDOM = random.Random(1)  # noqa: S311 - spacing, no secret


@contextmanager
def workers(pool: str, *sides: Side) -> Iterator[None]:
    """Run a worker of each side; both are ready, and the first calls made."""
    for side in sides:
        side.clear()
    with ExitStack() as stack:
        for side in sides:
            stack.enter_context(side.worker(*POOLS[pool]))
        for side in sides:
            for number in range(WARM):
                _call(side, number)
        yield


def measure_calls(figures: Figures, sides: Sequence[Side], pool: str, calls: int) -> None:
    """Call a task and wait for its value; seconds, one figure a call."""
    for number in range(calls):
        for side in _RANDOM.sample(sides, len(sides)):
            figures.add(f"{CALL}, {pool}", side.name, timed_alone(partial(_call, side, number)))


def _call(side: Side, number: int) -> None:
    if side.tasks.identity.delay(number).get(timeout=TIMEOUT_SECONDS) != number:
        raise SystemExit(f"{side.name} gave another value")


def measure_chords(figures: Figures, ours: Ours, theirs: Theirs, rounds: int, parts: int) -> None:
    """Send a chord and wait for the value of its body; seconds."""
    for _ in range(rounds):
        for side in (ours, theirs):
            figures.add(CHORD, side.name, timed(partial(_chord, side, parts)))


def _chord(side: Side, parts: int) -> None:
    chord = _chord_of(side)
    header = [side.tasks.identity.s(number) for number in range(parts)]
    if chord(header)(side.tasks.count.s()).get(timeout=TIMEOUT_SECONDS) != parts:
        raise SystemExit(f"{side.name} lost parts")


def _chord_of(side: Side) -> Any:
    if side.name == Ours.name:
        from river_compat.celery import chord

        return chord
    from celery import chord as their_chord

    return their_chord


def measure_countdown(figures: Figures, ours: Ours, theirs: Theirs, tasks: int) -> None:
    """Send tasks with `countdown=2` at random moments; seconds from the call to the start."""
    sent: list[tuple[Side, float, Any]] = []
    for _ in range(tasks):
        for side in _RANDOM.sample((ours, theirs), 2):
            at = time.time()
            sent.append((side, at, side.tasks.now.apply_async(countdown=DELAY_SECONDS)))
        time.sleep(_RANDOM.uniform(*SPACING_SECONDS))
    for side, at, result in sent:
        figures.add(COUNTDOWN, side.name, result.get(timeout=TIMEOUT_SECONDS) - at)
