"""Whose rules count where River's clients differ: ours, or Go's to the letter.

River's conformance suite compares rows and notifications of a client with Go's. `Parity.GO` switches exactly
what `docs/reference/conformance-adapter.md` lists; it is made for that suite and is no option for users.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from river_core import validation
from river_core.db.statement import Dialect
from river_core.errors import ConfigurationError


class Parity(StrEnum):
    """Our own rules, which lose nothing and refuse early, or Go's."""

    PYTHON = "python"
    GO = "go"


def checked_parity(given: str) -> Parity:
    """Return the parity of that name; raises ConfigurationError for another one."""
    try:
        return Parity(given)
    except ValueError as error:
        raise ConfigurationError(f"parity is {' or '.join(Parity)}, not {given!r}") from error


def attempts_check(rules: Parity, dialect: Dialect) -> Callable[[Any], int]:
    """Return the check of `max_attempts`: Go cuts it to the column on Postgres and stores it on SQLite."""
    if rules is Parity.PYTHON:
        return validation.max_attempts
    return _cut_to_column if dialect is Dialect.POSTGRES else validation.wide_max_attempts


def _cut_to_column(max_attempts: Any) -> int:
    return min(validation.wide_max_attempts(max_attempts), validation.MAX_ATTEMPTS)
