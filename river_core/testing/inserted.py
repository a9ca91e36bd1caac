"""Assertions about what was inserted (River: rivertest.RequireInserted and its siblings).

They look at every job that the given driver, client or transaction sees, whatever its state is by now.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from river_core.db import jobs
from river_core.db import testing as statements
from river_core.db.statement import Sql
from river_core.errors import ValidationError
from river_core.job import JobRow
from river_core.keywords import options
from river_core.task_name import task_name
from river_core.testing import describe
from river_core.testing.expectation import Expected, ExpectedJob, RequireInsertedOpts, Wanted, wanted_of
from river_core.testing.reach import Reach, reach


def require_inserted(
    where: Any, expected: Expected, opts: RequireInsertedOpts | None = None, /, **properties: Any
) -> JobRow:
    """Fail unless exactly one job of a kind was inserted and has the given properties; return it.

    `where` is a driver, a client or the connection of a transaction. `expected` is a kind, a class with a
    `kind`, or arguments, which are then compared too. Raises AssertionError, which tells what is there.
    """
    __tracebackhide__ = True
    given = options(RequireInsertedOpts, opts, properties)
    wanted = wanted_of(expected, given)
    with reach(where, given.schema) as found:
        there = _of(found, wanted)
        if not there:
            raise describe.failure("no such job was inserted", str(wanted), _instead(found, wanted))
        if len(there) > 1:
            raise describe.failure(
                f"{len(there)} jobs of one kind were inserted, so it is open which one is meant; "
                "require_many_inserted takes several",
                str(wanted),
                *_compared(there, wanted, found.sql),
            )
        if wanted.differences(there[0], found.sql):
            raise describe.failure(
                "the job that was inserted is another one", str(wanted), *_compared(there, wanted, found.sql)
            )
    return there[0]


def require_not_inserted(
    where: Any, expected: Expected, opts: RequireInsertedOpts | None = None, /, **properties: Any
) -> None:
    """Fail if a job of a kind was inserted that has all of the given properties, any job where none is given.

    Takes and raises the same as `require_inserted`.
    """
    __tracebackhide__ = True
    given = options(RequireInsertedOpts, opts, properties)
    wanted = wanted_of(expected, given)
    with reach(where, given.schema) as found:
        matching = [job for job in _of(found, wanted) if not wanted.differences(job, found.sql)]
    if matching:
        count = "a job was" if len(matching) == 1 else f"{len(matching)} jobs were"
        raise describe.failure(
            f"{count} inserted that should not be there", str(wanted), *describe.rows(matching)
        )


def require_many_inserted(where: Any, expected: Sequence[ExpectedJob | Expected]) -> list[JobRow]:
    """Fail unless the jobs of the listed kinds are exactly those listed, in this order; return them.

    A kind that was inserted several times is listed several times. `schema` is given with the first job or
    with each. Takes and raises otherwise the same as `require_inserted`.
    """
    __tracebackhide__ = True
    items = [item if isinstance(item, ExpectedJob) else ExpectedJob(item) for item in expected]
    if not items:
        raise ValidationError(
            "require_many_inserted takes at least one job; see require_not_inserted for none"
        )
    given = [item.opts or RequireInsertedOpts() for item in items]
    wanted = [wanted_of(item.args, opts) for item, opts in zip(items, given, strict=True)]
    with reach(where, _one_schema([opts.schema for opts in given])) as found:
        there = _of(found, *wanted)
        if [(job.kind, _task_among(job, wanted)) for job in there] != [
            (item.kind, item.task) for item in wanted
        ]:
            raise describe.failure(
                "the jobs that were inserted are not those that are expected, in number and order",
                *(f"{position}. {item}" for position, item in enumerate(wanted)),
                "there are:" if there else describe.kinds_there(found, [item.kind for item in wanted]),
                *describe.rows(there),
            )
        for position, (item, job) in enumerate(zip(wanted, there, strict=True)):
            if item.differences(job, found.sql):
                headline = f"job {position} of the list, counted from 0, is another one"
                raise describe.failure(headline, str(item), *_compared([job], item, found.sql))
    return there


def _one_schema(schemas: Sequence[str]) -> str:
    if any(schema not in ("", schemas[0]) for schema in schemas):
        raise ValidationError(f"schema is given with the first job, or the same with each, not {schemas!r}")
    return schemas[0]


def _of(found: Reach, *wanted: Wanted) -> list[JobRow]:
    kinds = dict.fromkeys(item.kind for item in wanted)
    fetched = found.connection.fetch(statements.job_get_by_kind_many(found.sql, kinds))
    there = [jobs.decode_job(found.sql, row) for row in fetched]
    return [job for job in there if any(item.is_of(job) for item in wanted)]


def _task_among(job: JobRow, wanted: Sequence[Wanted]) -> str | None:
    """Return the job's task where tasks are told apart."""
    name = task_name(job.kind, job.encoded_args)
    return name if any(item.task == name for item in wanted) else None


def _compared(there: Sequence[JobRow], wanted: Wanted, sql: Sql) -> list[str]:
    """Return the jobs, and below each of them in what it differs."""
    lines = describe.rows(there)
    for place in reversed(range(min(len(there), describe.MAX_ROWS))):
        differing = wanted.differences(there[place], sql).items()
        lines[place + 1 : place + 1] = [
            f"  {name} is {describe.shown(actual)}, not {describe.shown(value)}"
            for name, (value, actual) in differing
        ]
    return lines


def _instead(found: Reach, wanted: Wanted) -> str:
    others = _of(found, Wanted(wanted.kind, None, {})) if wanted.task is not None else []
    if not others:
        return describe.kinds_there(found, [wanted.kind])
    names = {str(task_name(job.kind, job.encoded_args)) for job in others}
    return f"in {found.name} there are calls of {', '.join(sorted(names))}"
