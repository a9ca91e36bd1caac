"""What the demo's rows must be in the end, and a plain SQL look at what they are.

The look uses the standard library alone, so that it does not trust the code that it checks; on SQLite
before 3.45 it needs our decoder of SQLite's binary JSON.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from river_core.drivers import sqlite_json
from river_core.job import FINAL_STATES

CALLS = 20
"""How many task calls are committed; retries add rows, not calls."""

EXPECTED: Counter[tuple[str, str, int, str]] = Counter(
    {
        ("shop.resize", "completed", 1, "succeeded"): 12,
        ("shop.send_mail", "completed", 1, "succeeded"): 6,
        ("shop.charge", "completed", 1, "retried"): 2,
        ("shop.charge", "completed", 1, "succeeded"): 1,
        ("shop.import_prices", "discarded", 1, "failed"): 1,
    }
)
"""Task, state, attempt and outcome of every row, and how many there are."""


@dataclass(frozen=True, slots=True)
class DemoRow:
    """One row of `rows.sql`."""

    id: int
    task: str
    state: str
    attempt: int
    outcome: str

    @property
    def is_end_of_call(self) -> bool:
        """Whether the call has ended with this row; after a retry it goes on in another one."""
        return self.state in FINAL_STATES and self.outcome != "retried"


def read_rows(folder: Path) -> list[DemoRow]:
    """Run `rows.sql` on the demo's database."""
    with closing(sqlite3.connect(folder / "river.sqlite3", timeout=5)) as connection:
        sqlite_json.register(connection)
        found = connection.execute((folder / "rows.sql").read_text("utf-8")).fetchall()
    return [DemoRow(*row) for row in found]


def count_orders(folder: Path) -> int:
    """Return how many orders were committed."""
    with closing(sqlite3.connect(folder / "river.sqlite3", timeout=5)) as connection:
        ((number,),) = connection.execute("SELECT count(*) FROM orders").fetchall()
    return int(number)


def problems(rows: Iterable[DemoRow], orders: int) -> list[str]:
    """Say what is not as it should be; an empty list means that all is well."""
    found = Counter((row.task, row.state, row.attempt, row.outcome) for row in rows)
    wrong = [f"missing: {count} x {_text(row)}" for row, count in (EXPECTED - found).items()]
    wrong += [f"unexpected: {count} x {_text(row)}" for row, count in (found - EXPECTED).items()]
    return wrong if orders == 1 else [*wrong, f"there are {orders} orders, not the 1 that was committed"]


def _text(row: tuple[str, str, int, str]) -> str:
    task, state, attempt, outcome = row
    return f"{task} {state}, attempt {attempt}, outcome {outcome or 'none'}"
