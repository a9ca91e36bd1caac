"""What a worker costs that has nothing to do: statements a second, and its share of a core.

    python -m benchmarks.idle --queues 1 --queues 4

Statements are counted by pg_stat_statements on a private server, where nobody else sends any.
"""

from __future__ import annotations

import time
from pathlib import Path

import click

from benchmarks.child import idle_worker
from benchmarks.server import reset_statements, statements
from benchmarks.table import database, fill, load

SETTLE_SECONDS = 12.0
TRANSACTION = ("BEGIN", "COMMIT")
COOLDOWN = 0.001
"""That of `river-compat worker`; it does not matter while nothing comes."""


def measure(url: str, queues: int, seconds: float) -> float:
    """Watch one idle worker; print what it did and return its statements a second."""
    fill(url, 0)
    options = [option for number in range(queues) for option in ("--queue", f"queue_{number}")]
    with idle_worker(url, COOLDOWN, *options) as worker:
        time.sleep(SETTLE_SECONDS)  # elections and first looks are over then
        before = _cpu_seconds(worker.pid)
        reset_statements(url)
        time.sleep(seconds)
        seen = statements(url)
        cpu = _cpu_seconds(worker.pid) - before
        worker.end()
    rate = sum(calls for calls, *_ in seen) / seconds
    bounds = sum(calls for calls, _, _, text in seen if text.startswith(TRANSACTION)) / seconds
    click.echo(
        f"{queues} queue(s): {rate:.2f} statements/s, {bounds:.2f} of them BEGIN and COMMIT; "
        f"{100 * cpu / seconds:.2f} % of a core"
    )
    for calls, _, _, text in seen:
        click.echo(f"    {calls / seconds:5.2f}/s  {text[:100]}")
    return float(rate)


def _cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of all threads of a process, to the nanosecond."""
    spent = (path.read_text().split()[0] for path in Path(f"/proc/{pid}/task").glob("*/schedstat"))
    return sum(int(nanoseconds) for nanoseconds in spent) / 1e9


@click.command()
@click.option("--queues", multiple=True, default=(1, 4), show_default=True)
@click.option("--seconds", default=60.0, show_default=True)
def main(queues: tuple[int, ...], seconds: float) -> None:
    """Measure idle workers of so many queues."""
    with database(None) as url:
        click.echo(f"{seconds:g} s each; {load()}")
        rates = {count: measure(url, count, seconds) for count in queues}
    first, *others = sorted(rates)
    for count in others:
        share = (rates[count] - rates[first]) / (count - first)
        click.echo(f"each queue beyond {first}: {share:.2f} statements/s")


if __name__ == "__main__":
    main()
