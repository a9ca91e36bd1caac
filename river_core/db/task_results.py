"""Statements that find an adapter's task by its id and write what it reports while it runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from river_core.db.statement import Sql, Statement

STATE_KEY = "python_task_state"
META_KEY = "python_task_meta"


def job_get_by_task_id(sql: Sql, task_id: str, limit: int) -> Statement:
    """Read the newest rows of a task, one that succeeded first."""
    return sql.statement("job_get_by_task_id", task_id=task_id, max=limit)


def job_get_by_task_id_many(sql: Sql, task_ids: Iterable[str]) -> Statement:
    """Read the first rows of many tasks, each with the task's id in the column behind the job's own."""
    return sql.statement("job_get_by_task_id_many", task_ids=json.dumps(list(task_ids)))


def job_delete_by_task_id(sql: Sql, task_id: str) -> Statement:
    """Delete the finished rows of a task; returns their ids."""
    return sql.statement("job_delete_by_task_id", task_id=task_id)


def task_result_store(sql: Sql, job_id: int, updates: Mapping[str, Any]) -> Statement:
    """Put a result that is stored by hand into a row; no row where the task has succeeded already."""
    return sql.statement("task_result_store", id=job_id, updates=json.dumps(updates))


def task_result_insert(sql: Sql, args: str, metadata: Mapping[str, Any], queue: str, state: str) -> Statement:
    """Insert a finished row that holds nothing but a result; returns its id."""
    return sql.statement(
        "task_result_insert", args=args, metadata=json.dumps(metadata), queue=queue, state=state
    )


def task_result_delete_expired(sql: Sql, ended: float | None, failed: float | None, limit: int) -> Statement:
    """Delete finished rows of tasks that are older than so many seconds; None keeps them."""
    return sql.statement("task_result_delete_expired", ended=ended, failed=failed, limit=limit)


def job_release_put_off(sql: Sql, name: str, key: str) -> Statement:
    """Make the rows of a task available that were put off under a metadata key; returns their ids."""
    return sql.statement("job_release_put_off", name=name, key=key)


def task_count_unfinished_by_name(sql: Sql, framework: str) -> Statement:
    """Count the rows of an adapter's tasks that have not ended, by the task's name."""
    return sql.statement("task_count_unfinished_by_name", framework=framework)
