"""The row that the benchmarks measure, defined once: River's whole table, an envelope of 300 bytes.

`noop_row` is what is inserted through the product, `noop_parameters` the same row for the bare statements of
`statements.sql`, so that both write the same bytes. A worker with `-A benchmarks.app` runs it.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import psycopg

from river_core import InsertParams, JobState
from river_core.db.statement import as_pyformat

KIND = "python_task"
QUEUE = "celery"
PRIORITY = 1
MAX_ATTEMPTS = 25
ENVELOPE_BYTES = 300

_NAME_LINE = re.compile(r"^-- name: (\w+)[^\n]*\n", re.MULTILINE)


def envelope(task_id: str) -> str:
    """Return the args of one no-op task of `benchmarks.app`, always 300 bytes; `task_id` is a UUID's text."""
    task = {
        "id": task_id,
        "framework": "celery",
        "name": "benchmarks.app.noop",
        "content_type": "application/json",
        "content_encoding": "utf-8",
        "body": '[[],{}, {"callbacks":null,"errbacks":null,"chain":null,"chord":null}]',
        "args_repr": "()",
        "kwargs_repr": "{}",
    }
    return json.dumps({"version": 1, "task": task}, separators=(",", ":"))


def noop_row() -> InsertParams:
    """Return a fresh row for the product's inserts."""
    return InsertParams(kind=KIND, encoded_args=envelope(str(uuid.uuid4())), queue=QUEUE)


def noop_parameters(row: InsertParams) -> dict[str, Any]:
    """Return the same row as the parameters of the bare statement `insert`."""
    return {
        "args": row.encoded_args,
        "kind": row.kind,
        "max_attempts": row.max_attempts,
        "metadata": row.encoded_metadata,
        "priority": row.priority,
        "queue": row.queue,
        "state": JobState.AVAILABLE.value,
        "tags": list(row.tags),
        "unique_key": row.unique_key,
        "unique_states": row.unique_states,
    }


def bare(name: str) -> bytes:
    """Return a bare statement of `statements.sql` with psycopg's placeholders; KeyError for another name."""
    return as_pyformat(_statements()[name]).encode()


def bare_columns(rows: Sequence[InsertParams]) -> dict[str, list[Any]]:
    """Return rows as the parameters of the bare statement `insert_unnest`: one array a column."""
    parameters = [noop_parameters(row) for row in rows]
    columns = {name: [item[name] for item in parameters] for name in parameters[0]}
    columns["tags"] = [",".join(tags) for tags in columns["tags"]]
    return columns


@cache
def _statements() -> dict[str, str]:
    pieces = _NAME_LINE.split(files("benchmarks").joinpath("statements.sql").read_text("utf-8"))
    return {name: body.strip().rstrip(";") for name, body in zip(pieces[1::2], pieces[2::2], strict=True)}


def copy_rows(cursor: psycopg.Cursor[Any], rows: Sequence[InsertParams]) -> None:
    """Write rows by the bare statement `copy`."""
    with cursor.copy(bare("copy")) as copy:
        for row in rows:
            copy.write_row(list(noop_parameters(row).values()))
