"""What measurements give: figures by line and contender, one a round."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Figures:
    """All figures of a run; `add` in the order in which the rounds go."""

    found: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def add(self, line: str, contender: str, value: float) -> None:
        """Keep one figure of a round."""
        self.found.setdefault((line, contender), []).append(value)

    def all(self, line: str, contender: str) -> list[float]:
        """Return the figures of a contender in one line; none where it was not measured."""
        return self.found.get((line, contender), [])

    def median(self, line: str, contender: str) -> float:
        """Return the median of the rounds."""
        return statistics.median(self.all(line, contender))

    def ratio(self, line: str, above: str, below: str) -> float:
        """Return the median of the rounds' ratios, which a busy moment of the machine leaves alone."""
        pairs = zip(self.all(line, above), self.all(line, below), strict=True)
        return statistics.median(first / second for first, second in pairs)


def timed(call: Callable[[], object]) -> float:
    """Return the seconds that a call takes, with nothing left over for the collector from before."""
    gc.collect()
    return timed_alone(call)


def timed_alone(call: Callable[[], object]) -> float:
    """Return the seconds that a short call takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def percentile(values: list[float], percent: int) -> float:
    """Return a percentile of at least two values."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]
