"""The words of a failed assertion: what was looked for, and what is there instead."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from river_core.db import testing as statements
from river_core.job import JobRow, rfc3339
from river_core.testing.reach import Reach

MAX_ROWS = 20
MAX_KINDS = 15
MAX_ARGS_CHARACTERS = 200


def failure(headline: str, *lines: str) -> AssertionError:
    """Return what fails the test when it is raised."""
    return AssertionError("\n".join(("River: " + headline, *(f"  {line}" for line in lines if line))))


def expectation(kind: str, properties: Mapping[str, Any]) -> str:
    """Return what was looked for."""
    named = "".join(f", {name} {shown(value)}" for name, value in properties.items())
    return f"looked for: kind {kind!r}{named}"


def shown(value: Any) -> str:
    """Return a value as messages show it: times as River writes them, texts of states plain."""
    return rfc3339(value) if hasattr(value, "astimezone") else repr(getattr(value, "value", value))


def row(job: JobRow) -> str:
    """Return one job on one line."""
    args = job.encoded_args
    if len(args) > MAX_ARGS_CHARACTERS:
        args = args[:MAX_ARGS_CHARACTERS] + "…"
    return (
        f"job {job.id}: kind {job.kind!r}, {job.state.value}, queue {job.queue!r}, priority {job.priority}, "
        f"attempt {job.attempt} of {job.max_attempts}, scheduled_at {rfc3339(job.scheduled_at)}, "
        f"tags {job.encoded_tags}, args {args}"
    )


def rows(jobs: Sequence[JobRow]) -> list[str]:
    """Return jobs, one on a line, the first twenty."""
    shown_rows = [row(job) for job in jobs[:MAX_ROWS]]
    return [*shown_rows, f"and {len(jobs) - MAX_ROWS} more"] if len(jobs) > MAX_ROWS else shown_rows


def kinds_there(reach: Reach, wanted: Iterable[str]) -> str:
    """Return which kinds of jobs there are, and which of them are spelled much like a wanted one."""
    counted = reach.connection.fetch(statements.job_count_by_kind(reach.sql, MAX_KINDS + 1))
    if not counted:
        return f"there are no jobs at all in {reach.name}"
    text = ", ".join(f"{count} of {kind!r}" for kind, count in counted[:MAX_KINDS])
    more = ", and other kinds" if len(counted) > MAX_KINDS else ""
    names = [kind for kind, _ in counted]
    close = [match for kind in wanted for match in difflib.get_close_matches(kind, names, n=2)]
    hint = f"; did you mean {' or '.join(repr(name) for name in dict.fromkeys(close))}?" if close else ""
    return f"in {reach.name} there are jobs of other kinds: {text}{more}{hint}"
