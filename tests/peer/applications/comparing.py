"""Puts what became of an application's tasks on both sides beside each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Outcome = Mapping[str, Any]

NEEDED_SHARE = 0.8  # of the tasks must run
RAN = {"SUCCESS", "FAILURE", "RETRY", "IGNORED", "REJECTED"}
_VOLATILE = (
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?",
    r"0x[0-9a-f]{6,}",
)


@dataclass(frozen=True, slots=True)
class Row:
    """One task: how it ended on the side that we are, on Celery's if that was asked, and what differs."""

    name: str
    ours: Outcome
    celery: Outcome | None
    differs: tuple[str, ...]
    reason: str

    @property
    def ran(self) -> bool:
        """Say whether the body of the task ran with us."""
        return self.ours["state"] in RAN

    @property
    def verdict(self) -> str:
        """One word or two for the table."""
        if self.celery is None:
            return "ran" if self.ran else "did not run"
        if not self.differs:
            return "equal"
        return "differs: " + ", ".join(self.differs) + (f" ({self.reason})" if self.reason else "")


def compare(
    ours: Mapping[str, Outcome],
    celery: Mapping[str, Outcome] | None,
    reasons: Mapping[str, str],
    volatile: Sequence[str] = (),
) -> list[Row]:
    """Return a row for every task of either side, by name."""
    absent = {"state": "NO SUCH TASK", "value": ""}
    names = sorted({*ours, *(celery or {})})
    rows = []
    for name in names:
        left, right = ours.get(name, absent), None if celery is None else celery.get(name, absent)
        differs = () if right is None else tuple(_differences(left, right, (*_VOLATILE, *volatile)))
        reason = next((why for fragment, why in reasons.items() if fragment in name), "")
        rows.append(Row(name, left, right, differs, reason))
    return rows


def _differences(left: Outcome, right: Outcome, volatile: Sequence[str]) -> Iterator[str]:
    for key in ("state", "value", "stored", "sent", "waiting"):
        if _steady(left.get(key), volatile) != _steady(right.get(key), volatile):
            yield key


def _steady(value: Any, volatile: Sequence[str]) -> Any:
    """Return the value with everything gone that differs from one run to the next."""
    if isinstance(value, list):
        return [_steady(each, volatile) for each in value]
    text = str(value)
    for pattern in volatile:
        text = re.sub(pattern, "…", text)
    return text


def table(rows: Sequence[Row]) -> Iterator[str]:
    """The lines of a table, a task each."""
    width = max((len(row.name) for row in rows), default=0)
    for row in rows:
        cells = [_cell(row.ours), *([] if row.celery is None else [_cell(row.celery)]), row.verdict]
        yield "  ".join([row.name.ljust(width), *(cell.ljust(34) for cell in cells)]).rstrip()


def _cell(outcome: Outcome) -> str:
    text = f"{outcome['state']} {outcome['value']}"
    return text if len(text) <= 34 else text[:33] + "…"


def summary(rows: Sequence[Row]) -> str:
    """One line of figures."""
    states = [row.ours["state"] for row in rows]
    words = {"SUCCESS": "well", "RETRY": "retried", "FAILURE": "failed by themselves"}
    ends = ", ".join(f"{states.count(state)} {word}" for state, word in words.items())
    line = f"{len(rows)} tasks, {sum(row.ran for row in rows)} ran ({ends})"
    if any(row.celery is not None for row in rows):
        line += f", {sum(not row.differs for row in rows)} equal to Celery"
    return line


def passed(rows: Sequence[Row]) -> bool:
    """Say whether enough tasks ran, and whatever differs from Celery has a reason."""
    enough = sum(row.ran for row in rows) >= NEEDED_SHARE * len(rows) > 0
    return enough and all(row.reason for row in rows if row.differs)
