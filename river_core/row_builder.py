"""What every client does before it writes: checks its own defaults, and makes checked rows of calls.

Shared by `Client` and `AsyncClient`, which differ only in how they run statements.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from operator import is_
from typing import Any

from river_core import validation
from river_core.clock import Clock, SystemClock
from river_core.errors import ConfigurationError, UnknownJobKindError, ValidationError
from river_core.insert import InsertManyParams, InsertOpts, InsertParams, JobArgs
from river_core.insert_options import (
    NO_OPTIONS,
    InsertDefaults,
    ResolvedOpts,
    check_params,
    insert_params,
    own_opts,
    params_of,
    resolved_opts,
)
from river_core.job_args import as_job_args
from river_core.keywords import options
from river_core.task import Registry

logger = logging.getLogger(__name__)


class RowBuilder:
    """Makes rows from arguments and options, by one client's defaults, registry and clock."""

    def __init__(
        self,
        defaults: InsertDefaults,
        registry: Registry | None,
        clock: Clock | None,
    ) -> None:
        """Take what is the same for all inserts; raises ConfigurationError for a default that River refuses.

        With a `registry`, kinds that it does not know are refused.
        """
        try:
            validation.queue(defaults.queue, defaults.lenient_queue_names)
            validation.max_attempts(defaults.max_attempts)
        except ValidationError as error:
            raise ConfigurationError(f"the client's default {error}") from error
        self.clock = clock or SystemClock()
        self._defaults = defaults
        self._registry = registry
        self._fixed_time = not isinstance(self.clock, SystemClock)
        self._warned_queues: set[str] = set()
        self._checked: tuple[Any, ...] = ()
        """What was the same for the rows that were checked last."""

    def one(self, args: Any, given: InsertOpts | None, keywords: dict[str, Any]) -> list[InsertParams]:
        """Return the row of one job with options as an object or as keywords of the same names."""
        return [self.row(args, options(InsertOpts, given, keywords), self.clock.now())]

    def many(self, jobs: Sequence[InsertManyParams]) -> list[InsertParams]:
        """Return a row for each job; raises ValidationError where there is none."""
        now = self.clock.now()
        seen: dict[int, ResolvedOpts] = {}
        rows = []
        for job in jobs:
            args = as_job_args(job.args)
            params = params_of(args, self._resolved(args, job.insert_opts or NO_OPTIONS, seen), now)
            self._check_known(params)
            rows.append(params)
        return not_empty(rows)

    def _resolved(self, args: JobArgs, call: InsertOpts, seen: dict[int, ResolvedOpts]) -> ResolvedOpts:
        """Resolve options once for all jobs of a batch that share them and whose class has none."""
        own = own_opts(args)
        if own is not NO_OPTIONS:
            return resolved_opts(own, call, self._defaults)
        found = seen.get(id(call))
        if found is None:
            found = seen[id(call)] = resolved_opts(own, call, self._defaults)
        return found

    def row(self, args: Any, given: InsertOpts | None, now: datetime) -> InsertParams:
        """Return the row of one job; `now`, aware, decides the period of a unique job."""
        params = insert_params(as_job_args(args), given or NO_OPTIONS, self._defaults, now)
        self._check_known(params)
        return params

    def checked(self, rows: Sequence[InsertParams]) -> list[InsertParams]:
        """Check rows that an adapter has put together; the JSON in them is taken as it is."""
        checked = self._checked
        for row in rows:
            facts = (row.kind, row.queue, row.priority, row.max_attempts, row.state, row.tags)
            if not checked or not all(map(is_, facts, checked)):  # by `==`, True would pass for 1
                check_params(row, self._defaults.lenient_queue_names)
                self._check_known(row)
                checked = self._checked = facts
        return not_empty(list(rows))

    def stamped(self, rows: Sequence[InsertParams]) -> Sequence[InsertParams]:
        """Give rows the time of a clock that a test set; otherwise the database's own clock counts."""
        now = self.now()
        if now is None:
            return rows
        return [
            replace(row, created_at=row.created_at or now, scheduled_at=row.scheduled_at or now)
            for row in rows
        ]

    def now(self) -> datetime | None:
        """Return the time of a clock that a test set; None where the database's counts."""
        return self.clock.now() if self._fixed_time else None

    def _check_known(self, row: InsertParams) -> None:
        if self._registry is not None and self._registry.get(row.kind) is None:
            raise UnknownJobKindError(row.kind)
        if self._defaults.lenient_queue_names and row.queue not in self._warned_queues:
            self._warn_once(row.queue)

    def _warn_once(self, queue: str) -> None:
        self._warned_queues.add(queue)
        if not validation.is_portable_queue(queue):
            logger.warning("River's other clients refuse this name of a queue", extra={"queue": queue})


def not_empty(rows: list[InsertParams]) -> list[InsertParams]:
    """Return the rows; raises ValidationError where there is none, as River's other clients do."""
    if not rows:
        raise ValidationError("no jobs to insert")
    return rows
