"""Runs what a test has sent, in its own thread and transaction: real rows, retries and serialization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from river_compat.celery.command import WorkerOptions, build_worker
from river_core.testing import StubClock, TestWorker, WorkResult

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

THREADS = "threads"


def drain(
    app: Celery,
    connection: Any = None,
    *,
    clock: StubClock | None = None,
    queue: str | None = None,
    limit: int = 100,
) -> list[WorkResult]:
    """Run the due tasks of an application, those that they send included; return how each run ended.

    `connection` is the one whose transaction the test has open; None stands for Django's, for one that is
    joined or watched, and where there is none each task commits by itself. What is due later, as retries,
    runs once `clock` has been advanced. A task that raises does not raise here: see the results. Raises
    AssertionError when more than `limit` runs are due.
    """
    worker = build_worker(app, WorkerOptions(pool=THREADS, concurrency=1))
    changes = {} if clock is None else {"clock": clock}
    return TestWorker.of(worker, **changes).drain(connection, queue=queue, limit=limit)
