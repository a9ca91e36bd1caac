"""What a worker knows for all of its threads: revoked ids, limits, counts (`celery.worker.state`)."""

from __future__ import annotations

import os
import platform
import threading
from collections import Counter
from collections.abc import Iterable
from time import monotonic, time
from typing import TYPE_CHECKING, Any

from river_compat.celery.refused_names import refusing
from river_compat.celery.revoking import revoke_expires
from river_compat.celery.utils.collections import LimitedSet
from river_compat.celery.version import __version__

SOFTWARE_INFO = {"sw_ident": "py-celery", "sw_ver": __version__, "sw_sys": platform.system()}
REVOKES_VARIABLE = "CELERY_WORKER_REVOKES_MAX"
REVOKES_MAX = 50_000


class WorkerState:
    """Facts of one worker. Safe for several threads."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._lock = threading.Lock()
        self._revoked = LimitedSet(int(os.environ.get(REVOKES_VARIABLE) or REVOKES_MAX), revoke_expires())
        self.total: Counter[str] = Counter()
        """How many tasks were taken, by name."""
        self.started_at = monotonic()
        self.epoch = time() - self.started_at
        """What makes a time since the epoch of one of the monotonic clock."""
        self.clock = 0
        self.limits: dict[str, dict[str, Any]] = {}
        """Limits that were set while workers run, by the task's name."""
        self.has_revoked = False

    def revoke(self, task_ids: Iterable[str]) -> None:
        """Remember revoked ids."""
        with self._lock:
            self._revoked.update(list(task_ids))
            self.has_revoked = True

    def is_revoked(self, task_id: str) -> bool:
        """Tell whether an id is revoked, as far as this worker knows."""
        with self._lock:
            return task_id in self._revoked

    def revoked(self) -> list[str]:
        """Return the revoked ids, oldest first."""
        with self._lock:
            self._revoked.purge()
            return list(self._revoked)

    def tick(self) -> int:
        """Advance the clock and return it."""
        with self._lock:
            self.clock += 1
            return self.clock


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
