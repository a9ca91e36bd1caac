"""Rows of adapter tasks, found by the task's id instead of the row's.

Always on a connection of the driver's own: what is read must not depend on a transaction that the
caller has open, and what a running task reports must be visible at once.
"""

from __future__ import annotations

from river_core.db import jobs, task_results
from river_core.db.task_results import META_KEY, STATE_KEY
from river_core.drivers.base import Driver
from river_core.job import JobRow

__all__ = ["META_KEY", "STATE_KEY", "delete_finished", "find_by_task_id", "get_row", "set_task_state"]


def get_row(driver: Driver, row_id: int) -> JobRow | None:
    """Return a committed row, or None; raises DatabaseError."""
    sql = driver.sql
    with driver.connect() as connection:
        rows = connection.fetch(jobs.job_get_by_id(sql, row_id))
    return jobs.decode_job(sql, rows[0]) if rows else None


def find_by_task_id(driver: Driver, task_id: str, limit: int = 2) -> list[JobRow]:
    """Return the newest rows of a task, one that succeeded first; raises DatabaseError."""
    sql = driver.sql
    with driver.connect() as connection:
        rows = connection.fetch(task_results.job_get_by_task_id(sql, task_id, limit))
    return [jobs.decode_job(sql, row) for row in rows]


def delete_finished(driver: Driver, task_id: str) -> int:
    """Delete the finished rows of a task and return how many there were; raises DatabaseError."""
    with driver.connect() as connection:
        return len(connection.fetch(task_results.job_delete_by_task_id(driver.sql, task_id)))


def set_task_state(driver: Driver, row_id: int, state: str, meta: str) -> bool:
    """Store an unfinished task's custom state with its facts as text; False when it has ended."""
    with driver.connect() as connection:
        return bool(connection.fetch(task_results.task_state_set(driver.sql, row_id, state, meta)))
