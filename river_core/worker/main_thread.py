"""One slot in the thread that asks for it: jobs run where a debugger and a terminal are at hand."""

from __future__ import annotations

import logging
import threading
from queue import Empty

from river_core.worker.slots import ThreadSlots

logger = logging.getLogger(__name__)


class MainThreadSlots(ThreadSlots):
    """Slots whose jobs run in the thread that calls `run_next`, for debugging (Celery: solo)."""

    replaces = False

    def _start_thread(self) -> None:
        """Start nothing: the caller of `run_next` is the thread."""

    def run_next(self, timeout: float) -> None:
        """Wait up to `timeout` seconds for a job and run it here."""
        try:
            running = self._waiting.get(timeout=timeout)
        except Empty:
            return
        if running is None:
            return
        self._members.add(threading.get_ident())
        try:
            self._run(running)
        except BaseException as error:
            logger.exception("the slot of %s failed outside its task", self.name)
            self._fail(running, error)
        finally:
            self._members.clear()
