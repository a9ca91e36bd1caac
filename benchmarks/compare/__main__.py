"""`python -m benchmarks.compare`: all in one run of less than ten minutes, or, `--quick`, of three."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import click

from benchmarks.compare import calls, drains, groups, idle
from benchmarks.compare.figures import Figures
from benchmarks.compare.redis import private_redis
from benchmarks.compare.sides import Ours, Relaxed, Theirs
from benchmarks.compare.verdict import table
from benchmarks.server import durable_server
from benchmarks.table import load


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    rounds: int
    calls: int
    our_group: int
    their_group: int
    pools: tuple[str, ...]
    our_tasks: int
    their_tasks: int
    round_trips: int
    chords: int
    countdowns: int


FULL = Size(5, 200, 10_000, 1_500, ("prefork", "threads", "solo"), 30_000, 3_000, 300, 5, 60)
QUICK = Size(2, 100, 10_000, 1_000, ("prefork", "threads"), 15_000, 1_500, 150, 2, 30)
DRAIN_ROUNDS_LESS = 2
"""Rounds of the drains, which take longest, beside those of the others."""
PARTS = 1_000


def measurements(
    size: Size, figures: Figures, ours: Ours, relaxed: Relaxed, theirs: Theirs
) -> dict[str, Callable[[], None]]:
    """Return what can be measured, by name."""

    def waiting() -> None:
        for pool in ("prefork", "threads"):
            with idle.workers(pool, ours, relaxed, theirs):
                idle.measure_calls(figures, (ours, relaxed, theirs), pool, size.round_trips)
        with idle.workers("prefork", ours, theirs):
            idle.measure_chords(figures, ours, theirs, size.chords, PARTS)
            idle.measure_countdown(figures, ours, theirs, size.countdowns)

    drain_rounds = max(size.rounds - DRAIN_ROUNDS_LESS, 1)
    our_tasks, their_tasks = size.our_tasks, size.their_tasks
    return {
        "delay": lambda: calls.measure(figures, ours, relaxed, theirs, size.rounds, size.calls),
        "group": lambda: groups.measure(figures, ours, theirs, size.rounds, size.our_group, size.their_group),
        "drain": lambda: drains.measure(
            figures, ours, theirs, size.pools, drain_rounds, our_tasks, their_tasks
        ),
        "idle": waiting,
    }


@click.command()
@click.option("--quick", is_flag=True, help="Less of everything, in less than three minutes.")
@click.option(
    "--only", multiple=True, type=click.Choice(["delay", "group", "drain", "idle"]), help="Not all of it."
)
@click.option("--pool", "pools", multiple=True, type=click.Choice(list(drains.POOLS)), help="Drain these.")
def main(quick: bool, only: tuple[str, ...], pools: tuple[str, ...]) -> None:
    """Compare with Celery on Redis."""
    size, figures = QUICK if quick else FULL, Figures()
    size = Size(**{**{name: getattr(size, name) for name in Size.__slots__}, "pools": pools or size.pools})
    click.echo(load())
    began = time.monotonic()
    with durable_server() as postgres, private_redis() as redis:
        ours, theirs = Ours(postgres), Theirs(redis)
        relaxed = Relaxed(ours)
        for name, measure in measurements(size, figures, ours, relaxed, theirs).items():
            if not only or name in only:
                measure()
                click.echo(f"measured {name} after {time.monotonic() - began:.0f} s; {load()}", err=True)
        relaxed.close()
        ours.close()
        theirs.close()
    click.echo(table(figures))
    click.echo(f"{time.monotonic() - began:.0f} s; {load()}")


if __name__ == "__main__":
    main()
