"""Signals about calls that a worker has before it runs them, sent by its main process as in Celery.

Child processes hear nothing of them. Nothing is decoded for it unless a receiver is connected.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from river_compat import envelope
from river_compat.celery import signals, worker_telling
from river_compat.celery.call_reading import UNREADABLE
from river_compat.celery.fixups import around_task
from river_compat.celery.message import FRAMEWORK
from river_compat.celery.run_outcomes import expired_outcome
from river_compat.celery.timing import is_expired
from river_compat.errors import CallNotRunnable, MalformedCall
from river_core import JobRow, Outcome, clock

if TYPE_CHECKING:
    from river_compat.celery.runner import CeleryRunner
    from river_compat.envelope import TaskCall

_BEFORE = (signals.task_received, signals.task_revoked, signals.task_unknown, signals.task_rejected)
_UNREADABLE = (*UNREADABLE, MalformedCall)

logger = logging.getLogger("celery.worker.strategy")


class Announcing:
    """Tells of the rows that one worker claims."""

    def __init__(self, runner: CeleryRunner, for_children: bool) -> None:
        """Tell of all rows where they run in child processes, otherwise of those that never run."""
        self._runner = runner
        self._for_children = for_children

    @property
    def is_heard(self) -> bool:
        """Whether rows that are to run have to be looked at."""
        return self._for_children and any(signal.receivers for signal in _BEFORE)

    def verdict(self, row: JobRow) -> Outcome | None:
        """Tell of a row that is to run; return how it ends where it has expired."""
        try:
            with around_task(self._runner.fixups):
                return self._verdict(row)
        except Exception:
            logger.exception("telling of job %d failed", row.id)
            return None

    def _verdict(self, row: JobRow) -> Outcome | None:
        call = self._call(row)
        if call is None:
            return None
        try:
            task, request = self._runner.request_of(call, row)
            expired = is_expired(request.expires, row.attempted_at or clock.now())
        except CallNotRunnable:
            worker_telling.tell_unknown(self._runner, call, row)
            return None
        except _UNREADABLE as error:
            worker_telling.tell_rejected(self._runner, row, error)
            return None
        if expired:
            worker_telling.tell_revoked(task, request, expired=True)
            return expired_outcome(call)
        worker_telling.tell_received(self._runner, task, request)
        return None

    def revoked(self, row: JobRow) -> None:
        """Tell of a row that was revoked, and does not run."""
        if not signals.task_revoked.receivers:
            return
        try:
            call = envelope.decode(row.encoded_args, row.id)
            task, request = self._runner.request_of(call, row)
            with around_task(self._runner.fixups):
                worker_telling.tell_revoked(task, request)
        except (CallNotRunnable, *_UNREADABLE):
            logger.debug("job %d was revoked, and is no call of a task here", row.id)
        except Exception:
            logger.exception("telling of job %d failed", row.id)

    def _call(self, row: JobRow) -> TaskCall | None:
        try:
            call = envelope.decode(row.encoded_args, row.id)
        except CallNotRunnable:
            return None
        except MalformedCall as error:
            worker_telling.tell_rejected(self._runner, row, error)
            return None
        return call if call.framework in (FRAMEWORK, "") else None
