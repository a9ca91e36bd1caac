"""Which claimed rows run now: none that was revoked, and of a limited task one at a time.

Decided before a row has a thread or a child process, so that what has to wait holds none.
"""

from __future__ import annotations

import json
import logging
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from river_compat import envelope
from river_compat.celery.exceptions import ImproperlyConfigured
from river_compat.celery.remote_names import RATE
from river_compat.celery.revoking import revoked_outcome
from river_compat.celery.time_limits import LIMITS
from river_compat.celery.utils.time import rate
from river_compat.celery.worker.announcing import Announcing
from river_compat.celery.worker.state import WorkerState
from river_compat.envelope import KIND
from river_core import Admitted, JobRow, Outcome, Snoozed, clock, task_rows
from river_core.drivers.base import Driver
from river_core.json_text import merge_objects
from river_core.standing import StandingRows

SLOT = "python_task_slot"
"""Metadata key of a row that waits for its turn: the time of its slot, in seconds since the epoch."""
LATE_SECONDS = 1.0
"""A row that comes later than this, and than one interval, after its slot takes a new one."""
BUCKET_SECONDS = 86_400.0

_ID = re.compile(r'"id": ?"((?:[^"\\]+|\\.)*)"')
_NAME = re.compile(r'"name": ?"((?:[^"\\]+|\\.)*)"')

logger = logging.getLogger("celery.worker.strategy")


class Admission:
    """Asked with the rows of every claim of one worker."""

    def __init__(
        self, app: Any, state: WorkerState, driver: Driver, announcing: Announcing | None = None
    ) -> None:
        """Read the limits of the tasks; raises ImproperlyConfigured for what is no rate."""
        self._announcing = announcing
        self._state = state
        self._rates = {} if app.conf.worker_disable_rate_limits else _rates(app)
        self._disabled = bool(app.conf.worker_disable_rate_limits)
        self._driver = driver
        self._slots: SharedSlots | OwnSlots = OwnSlots() if _scope(app) == "worker" else SharedSlots(driver)

    def rate_of(self, name: str) -> float:
        """Return how many runs a second a task may begin; 0 is without limit."""
        if self._disabled:
            return 0.0
        changed = self._state.limits.get(name, {})
        if "rate_limit" in changed:
            return float(rate(changed["rate_limit"]))
        return self._rates.get(name, 0.0)

    def release(self, name: str, is_first: bool) -> None:
        """Let what waits for slots of a task ask anew, since its rate is another one; raises DatabaseError.

        Of slots that workers share only the first worker says that they are free.
        """
        if is_first or isinstance(self._slots, OwnSlots):
            self._slots.forget(name)
        released = task_rows.release_put_off(self._driver, name, SLOT)
        logger.info("tasks of %s that waited for their turn: %d", name, released)

    def admit(self, rows: Sequence[JobRow]) -> Admitted:
        """Return the rows that run now, and how the others end."""
        admitted: list[JobRow] = []
        refused: list[tuple[JobRow, Outcome]] = []
        limited: dict[str, list[JobRow]] = defaultdict(list)
        for row in rows:
            if row.kind != KIND:
                admitted.append(row)
                continue
            name = _found(_NAME, row)
            if self._state.has_revoked and self._state.is_revoked(_found(_ID, row)):
                logger.info("Discarding revoked task: %s[%s]", name, _found(_ID, row))
                refused.append((row, revoked_outcome(row)))
                if self._announcing is not None:
                    self._announcing.revoked(row)
            elif self.rate_of(name):
                limited[name].append(row)
            else:
                admitted.append(self._taken(name, row))
        for name, waiting in limited.items():
            self._space(name, waiting, admitted, refused)
        if self._announcing is not None and self._announcing.is_heard:
            admitted = self._announced(self._announcing, admitted, refused)
        return admitted, refused

    def _announced(
        self, announcing: Announcing, rows: Sequence[JobRow], refused: list[tuple[JobRow, Outcome]]
    ) -> list[JobRow]:
        """Tell of rows that are about to run; return those that have not expired."""
        remaining = []
        for row in rows:
            outcome = announcing.verdict(row) if row.kind == KIND else None
            if outcome is None:
                remaining.append(row)
            else:
                refused.append((row, outcome))
        return remaining

    def _taken(self, name: str, row: JobRow) -> JobRow:
        self._state.total[name] += 1
        limits = self._state.limits.get(name, {}).get("time_limit")
        if limits is None:
            return row
        return replace(
            row, encoded_metadata=merge_objects(row.encoded_metadata, json.dumps({LIMITS: limits}))
        )

    def _space(
        self,
        name: str,
        rows: Sequence[JobRow],
        admitted: list[JobRow],
        refused: list[tuple[JobRow, Outcome]],
    ) -> None:
        interval = 1.0 / self.rate_of(name)
        fresh = []
        for row in rows:
            if _has_turn(row, interval):
                admitted.append(self._taken(name, row))
            else:
                fresh.append(row)
        if not fresh:
            return
        slot, now = self._slots.reserve(name, len(fresh), interval)
        for row in fresh:
            if slot <= now:
                admitted.append(self._taken(name, row))
            else:
                refused.append((row, Snoozed(slot - now, {SLOT: slot})))
            slot += interval


def _has_turn(row: JobRow, interval: float) -> bool:
    """Tell whether a row has waited for its slot, and did not come so late that others have it by now."""
    if f'"{SLOT}"' not in row.encoded_metadata or row.attempted_at is None:
        return False
    slot = row.metadata.get(SLOT)
    late = max(interval, LATE_SECONDS)
    return isinstance(slot, int | float) and row.attempted_at.timestamp() - late <= slot


def _found(pattern: re.Pattern[str], row: JobRow) -> str:
    """Return the id or name in a row's arguments without decoding them: bodies are text, so nothing in
    them looks like a key."""
    if '"body"' not in row.encoded_args:  # written by another language, with arguments that are no text
        call = envelope.decode_or_none(row.encoded_args, row.id)
        return "" if call is None else call.id if pattern is _ID else call.name
    match = pattern.search(row.encoded_args)
    if match is None:
        return ""
    text: str = match[1]
    return text if "\\" not in text else str(json.loads(f'"{text}"'))


def _rates(app: Any) -> dict[str, float]:
    found = {}
    for name, task in app.tasks.items():
        given = task.rate_limit
        given = app.conf.task_default_rate_limit if given is None else given
        try:
            found[name] = float(rate(given))
        except (KeyError, ValueError, TypeError) as error:
            raise ImproperlyConfigured(
                f"the rate limit of {name} is a number or text such as '10/m', not {given!r}"
            ) from error
    return {name: value for name, value in found.items() if value > 0}


def _scope(app: Any) -> str:
    scope = app.conf.river_rate_limit_scope
    if scope not in ("global", "worker"):
        raise ImproperlyConfigured(f"river_rate_limit_scope is 'global' or 'worker', not {scope!r}")
    return str(scope)


class SharedSlots:
    """Slots of all workers together, by the database's clock."""

    def __init__(self, driver: Driver) -> None:
        """Keep them in standing rows."""
        self._rows = StandingRows(driver)

    def reserve(self, name: str, count: int, interval: float) -> tuple[float, float]:
        """Take so many slots, so many seconds apart; return when the first is, and what time it is."""
        taken: list[tuple[float, float]] = []

        def advance(value: str | None, now: float) -> str:
            first = max(float(value or 0), now)
            taken[:] = [(first, now)]
            return repr(first + count * interval)

        self._rows.change(f"{RATE}{name}", advance, BUCKET_SECONDS)
        return taken[0]

    def forget(self, name: str) -> None:
        """Let the next slot of a task be now."""
        self._rows.put(f"{RATE}{name}", "0", BUCKET_SECONDS)


class OwnSlots:
    """Slots of this worker alone."""

    def __init__(self) -> None:
        """Have taken none."""
        self._next_free: dict[str, float] = {}

    def reserve(self, name: str, count: int, interval: float) -> tuple[float, float]:
        """Do as `SharedSlots.reserve`."""
        now = clock.now().timestamp()
        first = max(self._next_free.get(name, 0.0), now)
        self._next_free[name] = first + count * interval
        return first, now

    def forget(self, name: str) -> None:
        """Let the next slot of a task be now."""
        self._next_free.pop(name, None)
