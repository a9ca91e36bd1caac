"""Statements that insert jobs, one or many, and give back their rows."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import attrgetter
from typing import Any

from river_core.db.statement import Dialect, Parameter, Sql, Statement
from river_core.insert import InsertParams
from river_core.job import JobRow

NONCE_KEY = "river:unique_nonce"
NO_TAGS = "[]"
FIRST_SEPARATOR = "\x1f"
"""The unit separator: JSON text cannot hold it, and no name that people give does."""


def fresh_nonce() -> str:
    """Return the 16 hex digits that tell a new row from one that holds its unique key."""
    return secrets.token_hex(8)


def is_plain(sql: Sql, row: InsertParams) -> bool:
    """Tell whether a row cannot be a duplicate, so that no unique key has to be looked up."""
    return row.unique_key is None and row.unique_states is None and not sql.tells_by_nonce


def are_plain(sql: Sql, rows: Iterable[InsertParams]) -> bool:
    """Tell whether that is so for each of the rows."""
    return all(is_plain(sql, row) for row in rows)


_SAME = attrgetter(
    "kind",
    "queue",
    "state",
    "priority",
    "max_attempts",
    "scheduled_at",
    "created_at",
    "encoded_metadata",
    "tags",
    "unique_key",
    "unique_states",
    "links",
)


def are_alike(sql: Sql, rows: Sequence[InsertParams]) -> bool:
    """Tell whether `job_insert_alike` can write rows: plain ones that differ in their arguments alone."""
    first = rows[0]
    if sql.dialect is Dialect.SQLITE or not is_plain(sql, first):
        return False
    if first.tags or first.created_at is not None or first.links is not None:
        return False
    same = _SAME(first)
    return all(_SAME(row) == same for row in rows)


def job_insert_alike(sql: Sql, rows: Sequence[InsertParams], notifications: Sequence[str]) -> Statement:
    """Insert rows that are alike; only their ids come back, in order."""
    first, many = rows[0], len(rows) > 1 or len(notifications) > 1
    parameters: dict[str, Parameter] = {
        "kind": first.kind,
        "max_attempts": first.max_attempts,
        "metadata": first.encoded_metadata,
        "priority": first.priority,
        "queue": first.queue,
        "scheduled_at": sql.time(first.scheduled_at),
        "state": first.state.value,
        "schema": sql.schema or None,
    }
    if not many:
        notification = notifications[0] if notifications else None
        parameters |= {"args": first.encoded_args, "notification": notification}
        return sql.statement("job_insert_alike_one", **parameters)
    columns = {"args": [row.encoded_args for row in rows]}
    separator = FIRST_SEPARATOR
    while not (joined := _joined(columns, separator)):
        separator = secrets.token_hex(8)
    told = separator.join(notifications) if notifications else None
    return sql.statement("job_insert_alike", **parameters, **joined, separator=separator, notifications=told)


def decode_new_job(params: InsertParams, row: Sequence[Any]) -> JobRow:
    """Return the job of a plain insert: what came back, and what was sent."""
    return JobRow(
        row[0],
        params.state,
        0,
        params.max_attempts,
        None,
        row[1],
        None,
        row[2],
        params.priority,
        params.queue,
        params.kind,
        row[3],
        row[4],
        json.dumps(params.tags) if params.tags else NO_TAGS,
        None,
        None,
        None,
        None,
    )


def job_insert(sql: Sql, row: InsertParams, nonce: str | None, notification: str | None) -> Statement:
    """Insert one job; on Postgres also notify with the payload `notification`, if any.

    The column behind the job's own tells a duplicate, or is the row's nonce where a `nonce` is given. Where
    `is_plain`, nothing can be a duplicate, and `decode_new_job` reads what comes back.
    """
    postgres = sql.dialect is Dialect.POSTGRES
    return sql.statement(
        "job_insert_plain" if is_plain(sql, row) else "job_insert",
        args=row.encoded_args,
        created_at=sql.time(row.created_at),
        kind=row.kind,
        max_attempts=row.max_attempts,
        metadata=with_nonce(row.encoded_metadata, nonce) if postgres else row.encoded_metadata,
        priority=row.priority,
        queue=row.queue,
        scheduled_at=sql.time(row.scheduled_at),
        state=row.state.value,
        tags=",".join(row.tags) if postgres else json.dumps(row.tags),
        unique_key=row.unique_key,
        unique_states=row.unique_states,
        nonce=nonce,
        notification=notification,
        schema=sql.schema or None,
    )


def job_insert_many(
    sql: Sql, rows: Sequence[InsertParams], nonces: Sequence[str], notifications: Sequence[str]
) -> Statement:
    """Insert many jobs in one statement (River: JobInsertFastMany, JobInsertFullMany).

    On Postgres it also notifies with the payloads `notifications`. Each row takes its nonce where there
    are any. The rows that come back are as those of `job_insert`.
    """
    name = "job_insert_many_plain" if are_plain(sql, rows) else "job_insert_many"
    return _many(name, sql, rows, nonces, notifications)


def job_insert_many_plain(
    sql: Sql, rows: Sequence[InsertParams], nonces: Sequence[str], notifications: Sequence[str]
) -> Statement:
    """Insert many jobs; the statement fails where a unique key is taken."""
    return _many("job_insert_many_plain", sql, rows, nonces, notifications)


def _many(
    name: str, sql: Sql, rows: Sequence[InsertParams], nonces: Sequence[str], notifications: Sequence[str]
) -> Statement:
    if sql.dialect is Dialect.SQLITE:
        documents, unique_keys = _documents(sql, rows, nonces)
        return sql.statement(name, jobs=_compact(documents), unique_keys=unique_keys)
    columns = _columns(sql, rows, nonces)
    separator = FIRST_SEPARATOR
    while not (joined := _joined(columns, separator)):
        separator = secrets.token_hex(8)
    return sql.statement(
        name,
        **joined,
        separator=separator,
        notifications=separator.join(notifications) if notifications else None,
        schema=sql.schema or None,
    )


def _columns(sql: Sql, rows: Sequence[InsertParams], nonces: Sequence[str]) -> dict[str, list[str]]:
    """Return the texts of each column; an empty one is NULL where the column takes it."""
    return {
        "args": [row.encoded_args for row in rows],
        "created_at": [sql.time(row.created_at) or "" for row in rows],
        "kind": [row.kind for row in rows],
        "max_attempts": [str(row.max_attempts) for row in rows],
        "metadata": [
            with_nonce(row.encoded_metadata, nonce)
            for row, nonce in zip(rows, nonces or repeat(None), strict=False)
        ],
        "priority": [str(row.priority) for row in rows],
        "queue": [row.queue for row in rows],
        "scheduled_at": [sql.time(row.scheduled_at) or "" for row in rows],
        "state": [row.state.value for row in rows],
        "tags": [",".join(row.tags) for row in rows],
        "unique_key": ["" if row.unique_key is None else row.unique_key.hex() for row in rows],
        "unique_states": ["" if row.unique_states is None else str(row.unique_states) for row in rows],
    }


def _joined(columns: dict[str, list[str]], separator: str) -> dict[str, str]:
    """Return each column as one text, or nothing where a value holds the separator."""
    joined = {}
    for name, values in columns.items():
        text = joined[name] = separator.join(values)
        if text.count(separator) != len(values) - 1:
            return {}
    return joined


def with_nonce(metadata: str, nonce: str | None) -> str:
    """Return metadata, the text of a JSON object, with the nonce as its last member."""
    if nonce is None:
        return metadata
    body = metadata.rstrip()[:-1].rstrip()
    comma = "" if body.endswith("{") else ","
    return f'{body}{comma}"{NONCE_KEY}":"{nonce}"}}'


def _documents(
    sql: Sql, rows: Sequence[InsertParams], nonces: Sequence[str]
) -> tuple[list[dict[str, Any]], bytes]:
    keys = bytearray()
    documents = []
    for row, nonce in zip(rows, nonces, strict=True):
        document = {**_document(sql, row), "nonce": nonce}
        if row.unique_key is not None:
            document |= {"unique_key_start": len(keys) + 1, "unique_key_size": len(row.unique_key)}
            keys += row.unique_key
        documents.append(document)
    return documents, bytes(keys)


def _document(sql: Sql, row: InsertParams) -> dict[str, Any]:
    return {
        "args": row.encoded_args,
        "created_at": sql.time(row.created_at),
        "kind": row.kind,
        "max_attempts": row.max_attempts,
        "metadata": row.encoded_metadata,
        "priority": row.priority,
        "queue": row.queue,
        "scheduled_at": sql.time(row.scheduled_at),
        "state": row.state.value,
        "tags": row.tags,
        "unique_states": row.unique_states,
    }


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
