"""Rows of river_job as tests want them, written and read by plain SQL on either database."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from river_core.db import jobs
from river_core.db.statement import Dialect, Parameter, Statement
from river_core.drivers.base import Driver, Row
from river_core.job import JobRow

NOW = datetime(2026, 8, 7, 14, 30, tzinfo=UTC)

_POSTGRES = {
    "args": "@args::text::jsonb",
    "metadata": "@metadata::text::jsonb",
    "state": "@state::text::river_job_state",
    "attempted_by": "(SELECT array_agg(x) FROM jsonb_array_elements_text(@attempted_by::text::jsonb) AS x)",
    "errors": "(SELECT array_agg(x) FROM jsonb_array_elements(@errors::text::jsonb) AS x)",
    "tags": "ARRAY(SELECT jsonb_array_elements_text(@tags::text::jsonb))",
    "unique_key": "@unique_key::bytea",
    "unique_states": "@unique_states::int::bit(8)",
}
_SQLITE = {column: f"jsonb(@{column})" for column in ("args", "metadata", "attempted_by", "errors", "tags")}
_JSON = ("args", "metadata", "attempted_by", "errors", "tags")
_TIMES = ("attempted_at", "created_at", "finalized_at", "scheduled_at")


class FixedClock:
    """A clock that stands until it is moved."""

    def __init__(self, now: datetime = NOW) -> None:
        self.moment = now

    def now(self) -> datetime:
        """Return the set time."""
        return self.moment

    def move(self, seconds: float) -> None:
        """Go on by some seconds."""
        self.moment += timedelta(seconds=seconds)


class Steady:
    """A monotonic clock that stands until it is moved."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def put(driver: Driver, **columns: Any) -> int:
    """Insert one row as given and return its id."""
    values: dict[str, Any] = {
        "args": {},
        "kind": "known",
        "queue": "default",
        "state": "available",
        "metadata": {},
    }
    values |= {"attempt": 0, "max_attempts": 25, "priority": 1, "created_at": NOW, "scheduled_at": NOW}
    if driver.sql.dialect is Dialect.SQLITE:
        values["tags"] = []
    values |= columns
    names = ", ".join(values)
    expressions = ", ".join(_expression(driver, name) for name in values)
    text = f"INSERT INTO river_job ({names}) VALUES ({expressions}) RETURNING id"
    parameters = {name: _parameter(driver, name, value) for name, value in values.items()}
    return int(run(driver, text, **parameters)[0][0])


def put_running(driver: Driver, client_id: str, **columns: Any) -> int:
    """Insert a row that a client works on in its first attempt."""
    defaults = {"state": "running", "attempt": 1, "attempted_at": NOW, "attempted_by": ["earlier", client_id]}
    return put(driver, **(defaults | columns))


def _expression(driver: Driver, name: str) -> str:
    if driver.sql.dialect is Dialect.SQLITE:
        return _SQLITE.get(name, f"@{name}")
    if name in _TIMES:
        return f"@{name}::text::timestamptz"
    return _POSTGRES.get(name, f"@{name}")


def _parameter(driver: Driver, name: str, value: Any) -> Parameter:
    if name in _JSON:
        return None if value is None else json.dumps(value)
    if name in _TIMES:
        return driver.sql.time(value)
    parameter: Parameter = value
    return parameter


def run(driver: Driver, text: str, **parameters: Parameter) -> list[Row]:
    """Run any SQL and return its rows."""
    with driver.connect() as connection:
        return connection.fetch(Statement("test", text, parameters))


def read(driver: Driver, job_id: int) -> JobRow:
    """Return a row."""
    with driver.connect() as connection:
        [row] = connection.fetch(jobs.job_get_by_id(driver.sql, job_id))
    return jobs.decode_job(driver.sql, row)


def states(driver: Driver, *ids: int) -> list[str]:
    """Return the states of rows, in the order asked; `gone` for what does not exist."""
    found = dict(map(tuple, run(driver, _STATES[driver.sql.dialect])))
    return [found.get(job_id, "gone") for job_id in ids]


_STATES = {
    Dialect.POSTGRES: "SELECT id, state::text FROM river_job",
    Dialect.SQLITE: "SELECT id, state FROM river_job",
}
