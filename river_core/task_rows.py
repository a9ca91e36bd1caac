"""Rows of adapter tasks, found by the task's id instead of the row's.

Always on a connection of the driver's own: what is read must not depend on a transaction that the
caller has open, and what a running task reports must be visible at once.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from river_core.db import jobs, notifications, task_results
from river_core.db.notifications import TOPIC_DONE
from river_core.db.task_results import META_KEY, STATE_KEY
from river_core.drivers.base import Driver
from river_core.job import JobRow, JobState

__all__ = [
    "META_KEY",
    "STATE_KEY",
    "count_unfinished",
    "delete_expired",
    "delete_finished",
    "find_by_task_id",
    "find_by_task_ids",
    "get_row",
    "get_rows",
    "insert_result",
    "store_result",
]


def get_row(driver: Driver, row_id: int) -> JobRow | None:
    """Return a committed row, or None; raises DatabaseError."""
    sql = driver.sql
    with driver.connect() as connection:
        rows = connection.fetch(jobs.job_get_by_id(sql, row_id))
    return jobs.decode_job(sql, rows[0]) if rows else None


def get_rows(driver: Driver, row_ids: Collection[int]) -> dict[int, JobRow]:
    """Return committed rows by their ids, in one query; raises DatabaseError."""
    if not row_ids:
        return {}
    sql = driver.sql
    with driver.connect() as connection:
        rows = connection.fetch(jobs.job_get_by_id_many(sql, row_ids))
    return {job.id: job for job in (jobs.decode_job(sql, row) for row in rows)}


def find_by_task_ids(driver: Driver, task_ids: Collection[str]) -> dict[str, list[JobRow]]:
    """Return the newest rows of many tasks by task id, in one query; those of each as `find_by_task_id`."""
    found: dict[str, list[JobRow]] = defaultdict(list)
    if not task_ids:
        return found
    sql = driver.sql
    with driver.connect() as connection:
        for row in connection.fetch(task_results.job_get_by_task_id_many(sql, task_ids)):
            found[str(row[jobs.COLUMN_COUNT])].append(jobs.decode_job(sql, row))
    return found


def find_by_task_id(driver: Driver, task_id: str, limit: int = 2) -> list[JobRow]:
    """Return the newest rows of a task, one that succeeded first; raises DatabaseError."""
    sql = driver.sql
    with driver.connect() as connection:
        rows = connection.fetch(task_results.job_get_by_task_id(sql, task_id, limit))
    return [jobs.decode_job(sql, row) for row in rows]


def count_unfinished(driver: Driver, framework: str) -> dict[str, int]:
    """Return how many rows of an adapter's tasks have not ended, by the task's name; raises DatabaseError."""
    with driver.connect() as connection:
        rows = connection.fetch(task_results.task_count_unfinished_by_name(driver.sql, framework))
    return {str(name): count for name, count in rows}


def delete_finished(driver: Driver, task_id: str) -> int:
    """Delete the finished rows of a task and return how many there were; raises DatabaseError."""
    with driver.connect() as connection:
        return len(connection.fetch(task_results.job_delete_by_task_id(driver.sql, task_id)))


def store_result(driver: Driver, row_id: int, updates: Mapping[str, Any], final: bool) -> bool:
    """Put a result that is stored by hand into a row; False where the task has succeeded already.

    Whoever waits for it is told of a final one. Raises DatabaseError.
    """
    sql = driver.sql
    with driver.connect() as connection:
        stored = bool(connection.fetch(task_results.task_result_store(sql, row_id, updates)))
        if stored and final:
            payload = json.dumps({"ids": [row_id]})
            connection.fetch(notifications.notify_many(sql, TOPIC_DONE, [payload]))
    return stored


def insert_result(driver: Driver, args: str, metadata: Mapping[str, Any], queue: str, state: JobState) -> int:
    """Insert a finished row that holds nothing but a result; returns its id. Raises DatabaseError."""
    statement = task_results.task_result_insert(driver.sql, args, metadata, queue, state.value)
    with driver.connect() as connection:
        row_id: int = connection.fetch(statement)[0][0]
    return row_id


def delete_expired(driver: Driver, ended: float | None, failed: float | None, limit: int) -> int:
    """Delete up to `limit` finished rows of tasks; return how many there were. Raises DatabaseError.

    Those that succeeded or were cancelled go after `ended` seconds, those that failed after `failed`;
    None keeps them.
    """
    with driver.connect() as connection:
        statement = task_results.task_result_delete_expired(driver.sql, ended, failed, limit)
        return len(connection.fetch(statement))


def release_put_off(driver: Driver, name: str, key: str) -> int:
    """Make available now what was put off of a task, by name, under a metadata key; return how many rows.

    Raises DatabaseError.
    """
    with driver.connect() as connection:
        return len(connection.fetch(task_results.job_release_put_off(driver.sql, name, key)))
