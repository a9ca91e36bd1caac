"""What a test expects of an inserted job: a kind, and the properties that are compared."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from river_core import validation
from river_core.db.statement import Dialect, Sql
from river_core.errors import JobRowDecodeError, ValidationError
from river_core.insert import JobArgs
from river_core.job import JobRow, JobState
from river_core.task_name import ADAPTER_KIND, task_name
from river_core.testing import describe

Expected = str | type | JobArgs
"""A kind, a class with a `kind`, or arguments."""


@dataclass(frozen=True, slots=True)
class RequireInsertedOpts:
    """Properties that a job is to have, all of those that are given (River: RequireInsertedOpts).

    `args` and `tags` are compared whole, `scheduled_at` to the precision of the database. `task` looks only
    at those jobs of kind `python_task` that call this task of an adapter. `schema` says where River's
    tables are when that is not where the driver or connection finds them.
    """

    args: Mapping[str, Any] | None = None
    max_attempts: int | None = None
    priority: int | None = None
    queue: str | None = None
    scheduled_at: datetime | None = None
    state: JobState | str | None = None
    tags: Sequence[str] | None = None
    task: str | None = None
    schema: str = ""

    def __post_init__(self) -> None:
        """Raise ValidationError for a value that no job can have."""
        validation.scheduled_at(self.scheduled_at)
        if self.state is not None:
            validation.state(self.state)
        if isinstance(self.tags, str):
            raise ValidationError(f"tags takes a list of texts, not {self.tags!r}")


@dataclass(frozen=True, slots=True)
class ExpectedJob:
    """One of the jobs that `require_many_inserted` expects (River: ExpectedJob)."""

    args: Expected
    opts: RequireInsertedOpts | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """A kind, and the properties that are compared, as they are stored."""

    kind: str
    task: str | None
    properties: Mapping[str, Any]

    def differences(self, job: JobRow, sql: Sql) -> dict[str, tuple[Any, Any]]:
        """Return by name what is wanted and what the job has, where they differ."""
        found = {name: _actual(job, name) for name in self.properties}
        return {
            name: (value, found[name])
            for name, value in self.properties.items()
            if not _equal(value, found[name], sql)
        }

    def is_of(self, job: JobRow) -> bool:
        """Tell whether a job is of the kind, and of the task where one is named."""
        return job.kind == self.kind and self.task in (None, task_name(job.kind, job.encoded_args))

    def __str__(self) -> str:
        """Return what is looked for."""
        task = {"task": self.task} if self.task is not None else {}
        return describe.expectation(self.kind, {**task, **self.properties})


def wanted_of(expected: Expected, opts: RequireInsertedOpts) -> Wanted:
    """Return what is compared; raises ValidationError for what names no kind."""
    properties = {
        field.name: value
        for field in fields(opts)
        if field.name not in ("schema", "task") and (value := getattr(opts, field.name)) is not None
    }
    kind = expected if isinstance(expected, str) else getattr(expected, "kind", None)
    if not isinstance(kind, str):
        raise ValidationError(f"a kind, a class that has one, or arguments are looked for, not {expected!r}")
    if not isinstance(expected, str | type):
        properties.setdefault("args", json.loads(expected.to_json()))
    if opts.task is not None and kind != ADAPTER_KIND:
        raise ValidationError(f"task goes with kind {ADAPTER_KIND!r}, not with {kind!r}")
    return Wanted(kind, opts.task, properties)


def _actual(job: JobRow, name: str) -> Any:
    try:
        return getattr(job, name)
    except JobRowDecodeError as error:
        return str(error)


def _equal(wanted: Any, actual: Any, sql: Sql) -> bool:
    if isinstance(wanted, datetime):
        precise = sql.dialect is Dialect.POSTGRES
        return bool(wanted == actual) if precise else sql.time(wanted) == sql.time(actual)
    if isinstance(actual, list):
        return list(wanted) == actual
    return bool(wanted == actual)
