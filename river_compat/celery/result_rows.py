"""Finds the rows that say what became of tasks: many in one query, the successors of retries followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kombu.exceptions import OperationalError

from river_compat.celery import states
from river_compat.results import OUTCOME, RETRY_ID, TaskOutcome
from river_core import errors, task_rows
from river_core.drivers.base import Driver
from river_core.job import JobRow, JobState
from river_core.task_rows import STATE_KEY


@dataclass(frozen=True, slots=True)
class Rows:
    """The newest row of a task and the one that it is the retry of, where that is known."""

    newest: JobRow
    before: JobRow | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """A task to be found: by the id of one of its rows where that is known, else by its own.

    `before` is the row that `row_id` is the retry of, where that was read already.
    """

    task_id: str
    row_id: int | None = None
    before: JobRow | None = None


def find_rows(driver: Driver, wanted: Sequence[Wanted]) -> list[Rows | None]:
    """Return the rows of each task, None where there are none.

    Raises kombu's OperationalError when the database cannot be reached.
    """
    try:
        rows = task_rows.get_rows(driver, {want.row_id for want in wanted if want.row_id is not None})
        newest = _newest_by_row(driver, wanted, rows)
        by_task = _by_task_id(driver, {str(want.task_id) for want in wanted if want.row_id is None})
    except errors.OperationalError as error:
        raise OperationalError(str(error)) from error
    return [
        by_task.get(str(want.task_id)) if want.row_id is None else newest.get(want.row_id) for want in wanted
    ]


def _by_task_id(driver: Driver, task_ids: set[str]) -> dict[str, Rows]:
    if len(task_ids) == 1:
        task_id = next(iter(task_ids))
        found = {task_id: task_rows.find_by_task_id(driver, task_id)}
    else:
        found = task_rows.find_by_task_ids(driver, task_ids)
    return {
        task_id: Rows(rows[0], rows[1] if len(rows) > 1 else None) for task_id, rows in found.items() if rows
    }


def _newest_by_row(driver: Driver, wanted: Sequence[Wanted], rows: dict[int, JobRow]) -> dict[int, Rows]:
    """Follow the retries of all rows at once, one query for each generation."""
    before = {want.row_id: want.before for want in wanted}
    newest = {row_id: Rows(row, before[row_id]) for row_id, row in rows.items()}
    seen = set(rows)
    open_ends = {
        row_id: following for row_id, row in rows.items() if (following := retry_id(row)) is not None
    }
    while open_ends:
        fresh = set(open_ends.values()) - seen
        seen |= fresh
        found = task_rows.get_rows(driver, fresh)
        reached = {row_id: found[next_id] for row_id, next_id in open_ends.items() if next_id in found}
        for row_id, row in reached.items():
            newest[row_id] = Rows(row, newest[row_id].newest)
        open_ends = {
            row_id: following for row_id, row in reached.items() if (following := retry_id(row)) is not None
        }
    return newest


def retry_id(row: JobRow) -> int | None:
    """Return the row that goes on where a retried or replaced one ended, None for the last."""
    metadata = row.metadata if row.state is JobState.COMPLETED else {}
    if metadata.get(STATE_KEY) == states.SUCCESS:
        return None
    if metadata.get(OUTCOME) not in (TaskOutcome.RETRIED, TaskOutcome.REPLACED):
        return None
    following = metadata.get(RETRY_ID)
    return following if isinstance(following, int) and 0 < following < 2**63 else None
