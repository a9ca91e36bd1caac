"""The rows of periodic runs that are due: what the constructor gives, with the marks of its job."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol, cast

from river_core.drivers.base import Connection
from river_core.insert import InsertOpts, InsertParams, InsertResult, JobArgs
from river_core.periodic import Constructed, PeriodicJob
from river_core.worker.maintenance.periodic_plans import Run, facts

METADATA_PERIODIC = "periodic"
METADATA_PERIODIC_ID = "river:periodic_job_id"

logger = logging.getLogger(__name__)


class RowInserter(Protocol):
    """The part of a client that writes the jobs."""

    def row_to_insert(self, args: JobArgs, insert_opts: InsertOpts | None, now: datetime) -> InsertParams:
        """Return the checked row of one job; `now` decides the period of a unique one."""
        ...

    def insert_rows_on(self, connection: Connection, rows: Sequence[InsertParams]) -> list[InsertResult]:
        """Write rows in the connection's open transaction."""
        ...


@dataclass(frozen=True, slots=True)
class Prepared:
    """A due run and its row; None where the constructor gave nothing."""

    run: Run
    row: InsertParams | None


def prepared(run: Run, inserter: RowInserter) -> Prepared:
    """Call the constructor; one that fails loses this run and no other."""
    job = run.plan.job
    try:
        constructed = _arguments(job.constructor())
        if constructed is None:
            return Prepared(run, None)
        args, opts = constructed
        row = inserter.row_to_insert(args, _with_marks(opts, job), run.planned_at)
    except Exception:
        logger.exception("a periodic job cannot be made, this run is left out", extra=facts(job))
        return Prepared(run, None)
    return Prepared(run, replace(row, scheduled_at=row.scheduled_at or run.planned_at))


def distinct(rows: Iterable[InsertParams]) -> list[InsertParams]:
    """Leave out rows whose unique key an earlier one of the same turn has: they would be duplicates of it."""
    kept: list[InsertParams] = []
    keys: set[bytes] = set()
    for row in rows:
        if row.unique_key is not None and row.unique_key in keys:
            continue
        if row.unique_key is not None:
            keys.add(row.unique_key)
        kept.append(row)
    return kept


def _arguments(constructed: Constructed) -> tuple[JobArgs, InsertOpts] | None:
    if constructed is None:
        return None
    if isinstance(constructed, tuple) and not hasattr(constructed, "kind"):
        args, opts = constructed
        return args, opts or InsertOpts()
    return cast(JobArgs, constructed), InsertOpts()


def _with_marks(opts: InsertOpts, job: PeriodicJob) -> InsertOpts:
    marks: dict[str, object] = {METADATA_PERIODIC: True}
    if job.id is not None:
        marks[METADATA_PERIODIC_ID] = job.id
    return replace(opts, metadata={**(opts.metadata or {}), **marks})
