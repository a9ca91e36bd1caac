"""One slot in the thread that asks for it: jobs run where a debugger and a terminal are at hand."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import Empty

from river_core.task import Inserter
from river_core.worker.completer import Completion
from river_core.worker.executor import Executor
from river_core.worker.slots import ThreadSlots
from river_core.worker.stuck import StuckJobs

logger = logging.getLogger(__name__)


class MainThreadSlots(ThreadSlots):
    """One slot whose job runs in the thread that calls `run_next`, for debugging (Celery: solo)."""

    replaces = False

    def __init__(
        self,
        name: str,
        size: int,
        executor: Executor,
        client: Inserter,
        finished: Callable[[Completion], None],
        freed: Callable[[], None],
        *,
        claim_ahead: bool = False,
        stuck: StuckJobs | None = None,
    ) -> None:
        """As ThreadSlots, but `size` is always 1."""
        super().__init__(
            name, min(size, 1), executor, client, finished, freed, claim_ahead=claim_ahead, stuck=stuck
        )

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
