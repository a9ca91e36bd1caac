"""The worker behind the command: options, queues, logging, the request that a task sees."""

from __future__ import annotations

import io
import logging
import re
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from river_compat.celery import Celery, current_app, current_task, shared_task
from river_compat.celery.app.log import Logging, TaskFormatter
from river_compat.celery.command import WorkerOptions, build_worker, concurrency, pool_name, worked_queues
from river_compat.celery.exceptions import (
    ImproperlyConfigured,
    SecurityWarning,
    TaskRevokedError,
    UnsupportedFeature,
)
from river_compat.celery.utils.log import get_task_logger
from river_core.db.statement import Statement
from river_core.db.task_results import job_get_by_task_id
from river_core.drivers.psycopg import PsycopgDriver
from river_core.errors import ConfigurationError
from river_core.job import JobState
from tests.runtime.celery.conftest import Working
from tests.runtime.celery.rows import finished, rows_of
from tests.runtime.workers import wait_for

TIMEOUT = 60


@pytest.mark.parametrize("pool", ["gevent", "eventlet", "custom"])
def test_pools_that_do_not_exist_are_refused_by_name(app: Celery, pool: str) -> None:
    """Open case O21. With the way out; also when the settings ask for one."""
    with pytest.raises(UnsupportedFeature, match=f"'{pool}'.*-P threads"):
        build_worker(app, WorkerOptions(pool=pool))
    app.conf.worker_pool = pool
    with pytest.raises(UnsupportedFeature):
        pool_name(app, WorkerOptions())


def test_options_win_over_settings(app: Celery) -> None:
    """Pool, concurrency and queues."""
    app.conf.update(worker_concurrency=3, task_queues={"a": {}, "b": {}}, worker_pool="solo")
    assert pool_name(app, WorkerOptions()) == "solo"
    assert pool_name(app, WorkerOptions(pool="threads")) == "threads"
    assert (concurrency(app, WorkerOptions()), concurrency(app, WorkerOptions(concurrency=5))) == (3, 5)
    assert worked_queues(app, WorkerOptions()) == ["a", "b"]
    assert worked_queues(app, WorkerOptions(exclude_queues=["a"])) == ["b"]
    assert worked_queues(app, WorkerOptions(queues=["c", "c"])) == ["c"]


@pytest.mark.parametrize("options", [WorkerOptions(pool="thread"), WorkerOptions(exclude_queues=["celery"])])
def test_wrong_options_are_refused(app: Celery, options: WorkerOptions) -> None:
    """Before anything starts."""
    with pytest.raises(ImproperlyConfigured):
        build_worker(app, options)


def test_a_worker_works_its_queues_only(app: Celery, working: Working) -> None:
    """Others keep waiting."""
    work = app.task(lambda: 1, name="work", shared=False)
    other = work.apply_async(queue="Other.Queue")
    mine = work.apply_async(queue="mine")
    with working(queues=["mine"]):
        assert mine.get(timeout=TIMEOUT) == 1
        assert rows_of(app, other.id)[0].state is JobState.AVAILABLE
    with working(queues=["Other.Queue"]):
        assert other.get(timeout=TIMEOUT) == 1


def test_a_worker_imports_what_it_is_told(
    app: Celery, working: Working, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`include` of the application and `-I` of the command."""
    for name in ("included", "added"):
        (tmp_path / f"{name}_tasks.py").write_text(
            "from river_compat.celery import shared_task\n@shared_task\ndef name():\n    return __name__\n"
        )
    monkeypatch.syspath_prepend(tmp_path)
    app.conf.include = ["included_tasks"]
    with working(include=["added_tasks"]):
        for name in ("included_tasks", "added_tasks"):
            assert app.send_task(f"{name}.name").get(timeout=TIMEOUT) == name
            del sys.modules[name]


def test_a_task_sees_its_request(app: Celery, working: Working) -> None:
    """Fields of the message, of the row, and custom headers."""

    @app.task(bind=True, shared=False)
    def see(self, x, y=None):
        request = self.request
        assert current_task.request is request
        return {
            "id": request.id,
            "task": request.task,
            "args": request.args,
            "kwargs": request.kwargs,
            "headers": request.headers,
            "tenant": request.tenant,
            "retries": request.retries,
            "delivery_info": request.delivery_info,
            "is_eager": request.is_eager,
            "called_directly": request.called_directly,
            "group": request.group,
            "shadow": request.shadow,
            "argsrepr": request.argsrepr,
            "river_attempt": request.river_attempt,
            "hostname": request.hostname,
            "root_id": request.root_id,
            "ignore_result": request.ignore_result,
            "missing": request.get("nothing", "default"),
        }

    options = {"task_id": "own-id", "headers": {"tenant": "acme"}, "shadow": "shown", "argsrepr": "(hidden)"}
    with working():
        seen = see.apply_async((1,), {"y": 2}, **options).get(timeout=TIMEOUT)
    assert seen == {
        "id": "own-id",
        "task": f"{__name__}.see",
        "args": [1],
        "kwargs": {"y": 2},
        "headers": {"tenant": "acme"},
        "tenant": "acme",
        "retries": 0,
        "delivery_info": {"exchange": "", "routing_key": "celery", "priority": None, "redelivered": False},
        "is_eager": False,
        "called_directly": False,
        "group": None,
        "shadow": "shown",
        "argsrepr": "(hidden)",
        "river_attempt": 1,
        "hostname": f"celery@{socket.gethostname()}",
        "root_id": "own-id",
        "ignore_result": False,
        "missing": "default",
    }


def test_a_task_sees_the_limits_that_hold_for_it(app: Celery, working: Working) -> None:
    """Row 4.2. Its own where the call gives none; a priority of a Redis broker is 0 where none is given."""
    app.conf.task_priority_scheme = "redis"

    @app.task(bind=True, shared=False, time_limit=60, soft_time_limit=45, max_retries=1)
    def see(self):
        request = self.request
        if request.retries:
            return [request.timelimit, request.time_limit, request.soft_time_limit]
        assert request.delivery_info["priority"] == 0
        raise self.retry(countdown=0)

    with working():
        assert see.delay().get(timeout=TIMEOUT) == [[60, 45], 60, 45]
        called = see.apply_async(time_limit=10, soft_time_limit=5)
        assert called.get(timeout=TIMEOUT) == [[10, 5], 10, 5]


def test_shared_tasks_find_their_application_inside_a_worker(app: Celery, working: Working) -> None:
    """In its threads, which have made no application."""

    @shared_task(name="which_application")
    def which():
        return current_app.main

    with working():
        assert app.send_task("which_application").get(timeout=TIMEOUT) == "runtime"


def test_instance_attributes_live_as_long_as_the_process(app: Celery, working: Working) -> None:
    """A task is one instance."""

    @app.task(bind=True, shared=False, count=0)
    def counter(self):
        self.count += 1
        return self.count

    with working():
        assert [counter.delay().get(timeout=TIMEOUT) for _ in range(3)] == [1, 2, 3]


def test_log_lines_are_celerys(app: Celery, working: Working, caplog: pytest.LogCaptureFixture) -> None:
    """The texts that log parsers look for, without argument values."""

    @app.task(bind=True, shared=False, name="proj.work", throws=(KeyError,))
    def work(self, what, secret):
        if what == "retry" and self.request.retries == 0:
            raise self.retry(exc=ValueError("later"), countdown=0)
        if what == "fail":
            raise ValueError("boom")
        if what == "expected":
            raise KeyError("known")
        return 42

    with caplog.at_level(logging.INFO, "celery"), working():
        for what in ("succeed", "retry", "fail", "expected"):
            work.apply_async((what, "s3cret"), task_id=what).get(timeout=TIMEOUT, propagate=False)
    lines = {f"{record.levelname} {record.name} {record.getMessage()}" for record in caplog.records}
    assert "INFO celery.worker.strategy Task proj.work[succeed] received" in lines
    succeeded = r"INFO celery\.app\.trace Task proj\.work\[succeed\] succeeded in \d+\.\d+s: 42"
    assert any(re.fullmatch(succeeded, line) for line in lines)
    assert "INFO celery.app.trace Task proj.work[retry] retry: Retry in 0s: ValueError('later')" in lines or (
        "INFO celery.app.trace Task proj.work[retry] retry: Retry at None: ValueError('later')" in lines
    )
    assert "ERROR celery.app.trace Task proj.work[fail] raised unexpected: ValueError('boom')" in lines
    assert "INFO celery.app.trace Task proj.work[expected] raised expected: KeyError('known')" in lines
    assert not any("s3cret" in str(vars(record)) for record in caplog.records)


@pytest.fixture
def kept_logging(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The root and task loggers as they were; logging is not set up."""
    monkeypatch.setattr(Logging, "_setup", False)
    loggers = [logging.getLogger(), logging.getLogger("celery.task")]
    before = [(logger, list(logger.handlers), logger.level, logger.propagate) for logger in loggers]
    yield
    logging.captureWarnings(False)
    for logger, handlers, level, propagate in before:
        for handler in set(logger.handlers) - set(handlers):
            handler.close()
        logger.handlers[:], logger.level, logger.propagate = handlers, level, propagate


def test_the_workers_log_names_the_task(
    app: Celery, working: Working, tmp_path: Path, kept_logging: None
) -> None:
    """In lines of task loggers; other lines have Celery's usual format."""
    path = tmp_path / "worker.log"
    logger = get_task_logger("some.tasks")
    work = app.task(lambda: logger.info("inside"), name="proj.work", shared=False)
    app.log.setup(logging.INFO, str(path))
    with working():
        work.apply_async(task_id="the-id").get(timeout=TIMEOUT)
    text = path.read_text()
    assert "proj.work[the-id]: inside" in text
    assert "Task proj.work[the-id] received" in text


def test_outside_of_a_task_its_name_is_unknown() -> None:
    """`???`, as in Celery."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(TaskFormatter("%(task_name)s[%(task_id)s] %(message)s"))
    handler.emit(logging.makeLogRecord({"msg": "here"}))
    assert stream.getvalue() == "???[???] here\n"


def test_accepting_pickle_is_warned_about(app: Celery) -> None:
    """Whoever can write a row could run code."""
    app.conf.accept_content = ["json", "pickle"]
    with pytest.warns(SecurityWarning, match="pickle"):
        build_worker(app)


def test_the_setting_for_long_attempts_reaches_the_worker(app: Celery) -> None:
    """Ten minutes without it; a wrong value is refused before the worker starts."""
    assert build_worker(app).config.refresh_attempts_after == 600
    app.conf.river_refresh_attempts_after = 20
    assert build_worker(app).config.refresh_attempts_after == 20
    app.conf.river_refresh_attempts_after = 3600
    with pytest.raises(ConfigurationError, match="at most 1800"):
        build_worker(app)


def test_pickled_calls_run_where_they_are_accepted(app: Celery, working: Working) -> None:
    """Arguments and results that JSON does not have."""
    app.conf.update(accept_content=["json", "pickle"], result_serializer="pickle")
    echo = app.task(lambda x: x, name="echo", serializer="pickle", shared=False)
    with pytest.warns(SecurityWarning), working():
        assert echo.delay({1, 2}).get(timeout=TIMEOUT) == {1, 2}


def test_a_task_is_sent_and_worked_from_the_main_thread(app: Celery) -> None:
    """`-P solo`: one task at a time, where `run_jobs` is called."""
    work = app.task(lambda: 1, name="work", shared=False)
    result = work.delay()
    worker = build_worker(app, WorkerOptions(pool="solo"))
    worker.start()
    try:
        while not result.ready():
            worker.run_jobs(1.0)
    finally:
        worker.stop_and_cancel()
    assert result.get(timeout=0) == 1


PLAN_ROWS = """
INSERT INTO river_job (args, kind, max_attempts)
SELECT jsonb_build_object('version', 1, 'task', jsonb_build_object('id', 'task-' || n, 'name', 'a')),
    'python_task', 25
FROM generate_series(1, 20000) AS n
"""


@pytest.mark.postgres
def test_looking_up_a_task_id_uses_the_index(postgres_driver: PsycopgDriver) -> None:
    """Also once the plan is generic; a walk along the primary key would read the whole table."""
    statement = job_get_by_task_id(postgres_driver.sql, "task-19999", 2)
    with postgres_driver.connect() as connection:
        connection.run_script(PLAN_ROWS)
        connection.run_script("VACUUM ANALYZE river_job")
        connection.run_script("SET plan_cache_mode = force_generic_plan")
        plan = connection.fetch(Statement("plan", f"EXPLAIN {statement.sql}", statement.parameters))
        connection.run_script("RESET plan_cache_mode")
    text = "\n".join(str(row[0]) for row in plan)
    assert "river_job_args_index" in text
    assert "Seq Scan on river_job" not in text


def test_a_row_says_nothing_of_what_it_need_not(app: Celery, working: Working) -> None:
    """Each key is indexed; a task without a result has one."""
    work = app.task(lambda: None, name="work", shared=False)
    with working():
        row = finished(app, work.delay().id)
    metadata: dict[str, Any] = row.metadata
    assert metadata == {"python_task_outcome": "succeeded"}


def test_a_stop_that_does_not_wait_gives_the_row_back(app: Celery) -> None:
    """Checklist 160. With its attempt, past retries of every exception; another worker runs it."""
    runs: list[int] = []

    @app.task(bind=True, shared=False, autoretry_for=(Exception,))
    def endless(self):
        runs.append(self.request.river_attempt)
        while len(runs) == 1:
            time.sleep(0.005)  # a bytecode boundary at which the interruption can be heard
        return "second"

    result = endless.delay()
    first = build_worker(app, WorkerOptions(concurrency=1, pool="threads"))
    first.start()
    wait_for(lambda: runs, "the first run")
    first.stop_and_cancel()
    row = rows_of(app, result.id)[0]
    assert (row.state, row.attempt, result.state) == (JobState.AVAILABLE, 0, "PENDING")
    second = build_worker(app, WorkerOptions(concurrency=1, pool="threads"))
    second.start()
    try:
        assert result.get(timeout=TIMEOUT) == "second"
    finally:
        second.stop_and_cancel()
    assert runs == [1, 1]


def test_a_cancelled_row_is_a_revoked_task(app: Celery, working: Working) -> None:
    """Cancelled by any client, before it ran."""
    work = app.task(lambda: 1, name="work", shared=False)
    result = work.apply_async(countdown=600)
    app.runtime.client.job_cancel(rows_of(app, result.id)[0].id)
    with pytest.raises(TaskRevokedError, match="revoked"):
        result.get(timeout=TIMEOUT)
    assert result.state == "REVOKED"
