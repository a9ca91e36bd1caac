"""Statements that find an adapter's task by its id and write what it reports while it runs."""

from __future__ import annotations

import json

from river_core.db.statement import Sql, Statement

STATE_KEY = "python_task_state"
META_KEY = "python_task_meta"


def job_get_by_task_id(sql: Sql, task_id: str, limit: int) -> Statement:
    """Read the newest rows of a task, one that succeeded first."""
    return sql.statement("job_get_by_task_id", task_id=task_id, max=limit)


def job_delete_by_task_id(sql: Sql, task_id: str) -> Statement:
    """Delete the finished rows of a task; returns their ids."""
    return sql.statement("job_delete_by_task_id", task_id=task_id)


def task_state_set(sql: Sql, job_id: int, state: str, meta: str) -> Statement:
    """Store a custom state and its facts, a text, in the row of a running task; no row if it has ended."""
    return sql.statement("task_state_set", id=job_id, updates=json.dumps({STATE_KEY: state, META_KEY: meta}))
