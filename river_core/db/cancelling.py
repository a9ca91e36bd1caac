"""Statements that end the unfinished rows of adapter tasks, or mark those that run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from river_core.db.statement import Dialect, Sql, Statement

TERMINATE_KEY = "python_task_terminate"
"""On a running row that is to be ended at once: the name of the signal."""


@dataclass(frozen=True, slots=True)
class CancelChange:
    """What is written into a row that is cancelled. `error` is an entry of `errors`."""

    job_id: int
    metadata: Mapping[str, Any]
    error: Mapping[str, Any]


def job_lock_unfinished_of_tasks(sql: Sql, task_ids: Iterable[str]) -> Statement:
    """Lock and read the rows of adapter tasks that have not ended, in order of id."""
    return sql.statement("job_lock_unfinished_of_tasks", task_ids=json.dumps(list(task_ids)))


def job_lock_unfinished_stamped(sql: Sql, stamps: Iterable[tuple[str, Any]]) -> Statement:
    """Lock and read the rows of adapter tasks that have not ended and hold any of the stamps."""
    return sql.statement("job_lock_unfinished_stamped", stamps=json.dumps([list(item) for item in stamps]))


def job_mark_cancelled_many(sql: Sql, ids: Iterable[int], mark: str, signal: str | None) -> Statement:
    """Mark running rows as cancelled, RFC 3339 text, and to be ended by a signal where one is named."""
    updates = {TERMINATE_KEY: signal} if signal is not None else {}
    return sql.statement(
        "job_mark_cancelled_many", ids=json.dumps(list(ids)), mark=mark, updates=json.dumps(updates)
    )


def job_set_cancelled_many(sql: Sql, changes: Iterable[CancelChange]) -> Statement:
    """End rows that wait and are locked; returns their ids."""
    documents = [
        {"id": item.job_id, "error": _nested(sql, item.error), "metadata": _nested(sql, item.metadata)}
        for item in changes
    ]
    encoded = json.dumps(documents, allow_nan=False, separators=(",", ":"))
    return sql.statement("job_set_cancelled_many", changes=encoded)


def _nested(sql: Sql, value: Mapping[str, Any]) -> Any:
    """On SQLite nested JSON goes as text: reading it out of a document would change its numbers."""
    if sql.dialect is Dialect.POSTGRES:
        return dict(value)
    return json.dumps(dict(value), allow_nan=False, separators=(",", ":"))


def job_list_terminated(sql: Sql, ids: Iterable[int]) -> Statement:
    """Ask which running rows are to be ended by a signal; returns id, attempt and the signal's name."""
    return sql.statement("job_list_terminated", ids=json.dumps(list(ids)))


def task_purge(sql: Sql, framework: str, queues: Iterable[str], limit: int) -> Statement:
    """Delete waiting rows of the adapter tasks of a framework in these queues; returns their ids."""
    return sql.statement("task_purge", framework=framework, queues=sql.array(queues), limit=limit)
