"""`drain`: work in the test's own thread, and in its transaction, what the code under test has sent for real.

Where eager mode runs a task at the call, this leaves calls, retries and workflows as production has them:
rows, which are written, claimed and finished.
"""

from __future__ import annotations

from typing import Any

from river_compat.celery.command import WorkerOptions, build_worker
from river_compat.celery.pools import SOLO
from river_core.clock import Clock
from river_core.testing.result import WorkResult
from river_core.testing.worker import DRAIN_LIMIT, TestWorker


def drain(
    app: Any,
    connection: Any = None,
    *,
    clock: Clock | None = None,
    queue: str | None = None,
    limit: int = DRAIN_LIMIT,
) -> list[WorkResult]:
    """Work all calls of the application that are due, those that tasks send included; return how each ended.

    `connection` is the one whose transaction the calls are in; None stands for a joined or watched
    transaction or Django's, and without one each statement commits by itself. Calls of the future stay
    until `clock`, a `river_core.testing.StubClock`, is moved on, so that retries take no time. Raises
    AssertionError when more than `limit` runs are due.
    """
    worker = build_worker(app, WorkerOptions(pool=SOLO))
    changes: dict[str, Any] = {} if clock is None else {"clock": clock}
    return TestWorker.of(worker, **changes).drain(connection, queue=queue, limit=limit)
