"""The statements of the checklist, as data."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

NUMBERS = range(1, 168)
MAX_REASONS = 10
_SOURCE = Path(__file__).with_name("statements.toml")
_DATABASES = {
    "both": frozenset({"Postgres", "SQLite"}),
    "postgres": frozenset({"Postgres"}),
    "sqlite": frozenset({"SQLite"}),
    "none": frozenset[str](),
}


@dataclass(frozen=True, slots=True)
class Statement:
    """One line of the checklist: `databases` are those on which a test must show it."""

    number: int
    text: str
    databases: frozenset[str]
    reason: str | None = None


def statements() -> dict[int, Statement]:
    """Every statement by its number, in order."""
    document = tomllib.loads(_SOURCE.read_text("utf-8"))
    reasons = document["reasons"]
    found = {
        int(number): Statement(int(number), text, databases, reasons.get(number))
        for place, databases in _DATABASES.items()
        for number, text in document[place].items()
    }
    return dict(sorted(found.items()))
