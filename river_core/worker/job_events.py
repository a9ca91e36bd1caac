"""Makes the events of written outcomes: one for each row, of the kind that the row has after the write."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from river_core.job import JobRow, JobState
from river_core.worker.completion import CompletedInTx, Completion
from river_core.worker.events import Event, JobStatistics, kind_of

SECOND = timedelta(seconds=1)


def rows_to_read(batch: Sequence[Completion], states: Collection[int]) -> list[int]:
    """Return the ids of the rows that the events of a batch are about."""
    return [item.row.id for item in batch if item.row.id in states or isinstance(item, CompletedInTx)]


def job_events(
    batch: Sequence[Completion], states: Mapping[int, JobState], rows: Mapping[int, JobRow], now: datetime
) -> Iterator[Event]:
    """Yield the events of a batch that left rows in `states`; `rows` are those rows, read after it.

    A row that is gone gives an event only if its task had completed it itself.
    """
    for item in batch:
        state, row = states.get(item.row.id), rows.get(item.row.id)
        if row is None and isinstance(item, CompletedInTx):
            state, row = JobState.COMPLETED, item.snapshot
        kind = kind_of(state, item.decided) if state is not None else None
        if kind is not None and row is not None:
            yield Event(kind, row, statistics=_statistics(item, now))


def _statistics(item: Completion, now: datetime) -> JobStatistics | None:
    if item.ran is None:
        return None
    began, ended = item.ran
    return JobStatistics(
        queue_wait=_seconds(began - item.row.scheduled_at),
        run=_seconds(ended - began),
        complete=_seconds(now - ended),
    )


def _seconds(duration: timedelta) -> float:
    return max(duration / SECOND, 0.0)
