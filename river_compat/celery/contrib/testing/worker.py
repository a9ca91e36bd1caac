"""Workers for tests, in the test's own process (`celery.contrib.testing.worker`)."""

from __future__ import annotations

import logging
import logging.handlers
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from river_compat.celery import worker
from river_compat.celery.contrib.testing.tasks import ping
from river_compat.celery.refused_names import lacking
from river_compat.celery.result import allow_join_result
from river_compat.celery.utils.dispatch import Signal
from river_compat.celery.utils.nodenames import anon_nodename

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

__all__ = ["TestWorkController", "start_worker"]

WORKER_LOGLEVEL = os.environ.get("WORKER_LOGLEVEL", "error")

test_worker_starting = Signal(name="test_worker_starting", providing_args=())
test_worker_started = Signal(name="test_worker_started", providing_args=("worker", "consumer"))
test_worker_stopped = Signal(name="test_worker_stopped", providing_args=("worker",))


@lacking("use the fixture caplog of pytest", "QueueHandler logger_queue")
class TestWorkController(worker.WorkController):
    """A worker that tells when it takes tasks."""

    __test__ = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take what WorkController takes."""
        self._settled = threading.Event()
        self.failure: BaseException | None = None
        super().__init__(*args, **kwargs)

    def start(self) -> None:
        """Work until `stop`; a worker that cannot start keeps the reason in `failure`."""
        try:
            super().start()
        except BaseException as error:
            self.failure = error
            raise
        finally:
            self._settled.set()

    def on_consumer_ready(self, consumer: Any) -> None:
        """Tell that tasks are taken from now on."""
        self._settled.set()
        test_worker_started.send(sender=self.app, worker=self, consumer=consumer)

    def ensure_started(self) -> None:
        """Wait until another thread's `start` takes tasks; raises what kept it from that."""
        self._settled.wait()
        if self.failure is not None:
            raise self.failure


@contextmanager
def start_worker(
    app: Celery,
    concurrency: int = 1,
    pool: str = "solo",
    loglevel: str | int = WORKER_LOGLEVEL,
    logfile: str | None = None,
    perform_ping_check: bool = True,
    ping_task_timeout: float = 10.0,
    shutdown_timeout: float = 10.0,
    **kwargs: Any,
) -> Iterator[TestWorkController]:
    """Run a worker in a thread for the block; gives the worker, whose name is that of `anon_nodename()`.

    `hostname` names it otherwise. With `perform_ping_check` it must answer within `ping_task_timeout`
    seconds.
    Raises RuntimeError when its tasks do not end within `shutdown_timeout` seconds after the block.
    """
    test_worker_starting.send(sender=app)
    started = None
    try:
        with _in_thread(app, shutdown_timeout, concurrency, pool, loglevel, logfile, **kwargs) as started:
            if perform_ping_check:
                _check_ping(app, ping_task_timeout)
            yield started
    finally:
        test_worker_stopped.send(sender=app, worker=started)


def setup_app_for_worker(app: Celery, loglevel: str | int, logfile: str | None) -> None:
    """Make the application the current one, and log as it says, unless it is one for tests."""
    app.finalize()
    app.set_current()
    app.set_default()
    if loglevel and not app.__dict__.get("logging_is_set_up"):
        app.log.already_setup = False
        app.log.setup(loglevel, logfile)


@contextmanager
def _in_thread(
    app: Celery,
    shutdown_timeout: float,
    concurrency: int,
    pool: str,
    loglevel: str | int,
    logfile: str | None,
    WorkController: Any = TestWorkController,  # noqa: N803 - the parameter is Celery's
    **kwargs: Any,
) -> Iterator[Any]:
    setup_app_for_worker(app, loglevel, logfile)
    hostname = kwargs.pop("hostname", None) or anon_nodename()
    made = WorkController(
        app=app,
        hostname=hostname,
        concurrency=concurrency,
        pool=pool,
        loglevel=loglevel,
        logfile=logfile,
        **kwargs,
    )
    thread = threading.Thread(target=_run, args=(made,), name="test-worker", daemon=True)
    thread.start()
    made.ensure_started()
    try:
        yield made
    finally:
        made.stop()
        thread.join(shutdown_timeout)
        if thread.is_alive():
            made.terminate()
            raise RuntimeError(
                f"the worker's tasks did not end within shutdown_timeout={shutdown_timeout} seconds; give it "
                "a longer one if they take longer"
            )


def _run(made: Any) -> None:
    try:
        made.start()
    except Exception:
        logging.getLogger(__name__).exception("the worker of the test has ended")


def _check_ping(app: Celery, timeout: float) -> None:
    with allow_join_result():
        answer = app.tasks[ping.name].delay().get(timeout=timeout)
    if answer != "pong":
        raise AssertionError(f"the worker of the test answered {answer!r} instead of 'pong'")
