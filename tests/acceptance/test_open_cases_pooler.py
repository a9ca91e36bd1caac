"""What users of poolers run into: PgBouncer in transaction mode, and life without LISTEN."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from river_compat.dev_database import Postgres
from river_core import Client, EncodedArgs, InsertManyParams, JobState, UniqueOpts
from river_core.drivers.psycopg import PsycopgDriver
from river_core.errors import JobCancelError
from river_core.migrate import Migrator
from river_core.task import Job
from river_core.worker.identity import LOCKED, POLL_ONLY
from tests.acceptance.commands import environment, run, wait_for, worker
from tests.own_databases import OwnDatabase, own_database
from tests.pgbouncer import pgbouncer
from tests.runtime.workers import DEADLINE, Gate, insert, registry, row, running

pytestmark = pytest.mark.postgres

JOBS = 500
REFUSALS = ("prepared statement", "unsupported startup parameter", "Traceback", "ERROR")
LOCKS_OF_LISTENERS = """
SELECT count(*) FROM pg_locks
WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
TASKS = """
import time
from pathlib import Path
from river_compat.celery import Celery

app = Celery("tasks")


@app.task
def add(x, y):
    return x + y
"""


@pytest.fixture
def database(postgres_server: Postgres) -> Iterator[OwnDatabase]:
    """A database with River's schema, reached directly."""
    with own_database(postgres_server.url) as database:
        yield database


@pytest.fixture
def pooled_url(database: OwnDatabase, tmp_path: Path) -> Iterator[str]:
    """The same database through PgBouncer in transaction mode."""
    with pgbouncer(database.url, tmp_path / "pgbouncer") as url:
        yield url


@pytest.fixture
def pooled(pooled_url: str) -> Iterator[PsycopgDriver]:
    """A driver that knows only the pooler; `public` is named, since a session's search path is anybody's."""
    with closing(PsycopgDriver(pooled_url, schema="public")) as driver:
        yield driver


def test_two_workers_behind_a_transaction_pooler_run_everything(
    pooled_url: str, database: OwnDatabase, tmp_path: Path
) -> None:
    """O28. Two poll-only workers, 500 tasks; neither side sees a prepared statement or a refused parameter.

    Chords are left out: Celery's canvas does not exist here yet.
    """
    (tmp_path / "tasks.py").write_text(TASKS)
    env = {"RIVER_DATABASE_URL": pooled_url, "RIVER_SCHEMA": "public"}
    send = (
        "import river_core, psycopg, os\n"
        "from tasks import app, add\n"
        "app.conf.river_poll_only = True\n"
        f"results = [add.delay(n, 1) for n in range({JOBS})]\n"
        f"assert [r.get(timeout=60) for r in results] == [n + 1 for n in range({JOBS})]\n"
    )
    with worker(tmp_path, "--poll-only", "-c", "4", env=env) as one, worker(tmp_path, "--poll-only", env=env):
        done = subprocess.run(
            [sys.executable, "-c", send],
            cwd=tmp_path,
            env=environment(env),
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        said = one.log.read_text()
    assert database.run("SELECT state::text, count(*) FROM river_job GROUP BY 1") == [("completed", JOBS)]
    assert not [refusal for refusal in REFUSALS if refusal in said], said
    assert "polling only" in said


def test_a_running_job_is_cancelled_behind_a_transaction_pooler(pooled: PsycopgDriver) -> None:
    """O28, O29. Checklist 94. The poll sees the mark, without LISTEN; ten looks were missed if it fails."""
    began, ended = threading.Event(), threading.Event()

    def long(job: Job) -> None:
        began.set()
        assert job.wait_stopped(DEADLINE)
        ended.set()
        raise JobCancelError("heard it")

    with running(pooled, registry(long=long), poll_only=True) as worker:
        assert worker.id.endswith(POLL_ONLY)
        job = insert(pooled, "long")
        assert began.wait(DEADLINE)
        Client(pooled).job_cancel(job.id)
        asked = time.monotonic()
        assert ended.wait(DEADLINE)
        heard_after = time.monotonic() - asked
        wait_for(lambda: row(pooled, job.id).state is JobState.CANCELLED, "the cancellation")
    assert heard_after < 10 * worker.config.control_poll_interval


def test_statements_are_not_prepared_behind_a_pooler(pooled: PsycopgDriver, database: OwnDatabase) -> None:
    """O28. Many of one kind on several connections: none is prepared in a session of the pooler."""
    client = Client(pooled)

    def insert_many() -> None:
        for _ in range(20):
            client.insert(EncodedArgs("some_kind", "{}"))

    threads = [threading.Thread(target=insert_many) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with psycopg.connect(client.driver._conninfo, prepare_threshold=None) as connection:
        for _ in range(20):
            assert connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)
            connection.rollback()
    assert database.run("SELECT count(*) FROM river_job") == [(120,)]


def test_statements_are_prepared_without_a_pooler(postgres_driver: PsycopgDriver) -> None:
    """O28. The other side of it: on a direct connection repeated statements are."""
    client = Client(postgres_driver)
    for _ in range(20):
        client.insert(EncodedArgs("some_kind", "{}"))
    with postgres_driver.connect() as connection:
        raw = connection.raw
        assert raw.execute("SELECT count(*) > 0 FROM pg_prepared_statements").fetchone() == (True,)


def test_a_direct_url_for_listening_keeps_everything_else_pooled(
    pooled_url: str, database: OwnDatabase
) -> None:
    """O28. `listen_url` brings notifications, the lock and the fast recovery back: one direct session."""
    gate = Gate()
    with (
        closing(PsycopgDriver(pooled_url, schema="public", listen_url=database.url)) as driver,
        running(driver, registry(work=gate), fetch_poll_interval=60.0) as worker,
    ):
        assert worker.id.endswith(LOCKED)
        job = insert(driver, "work")
        assert gate.began.wait(DEADLINE)
        gate.release.set()
        wait_for(lambda: row(driver, job.id).state is JobState.COMPLETED, "the job")
        held = database.run(LOCKS_OF_LISTENERS)
    assert held == [(1,)]


def test_migrations_go_through_a_transaction_pooler(pooled: PsycopgDriver, database: OwnDatabase) -> None:
    """O28. Down and up again: each version is one transaction, and its lock ends with it."""
    migrator = Migrator(pooled)
    migrator.migrate_down(target_version=0)
    assert database.run("SELECT to_regclass('public.river_job')") == [(None,)]
    migrator.migrate_up()
    assert migrator.validate().ok
    assert database.run(LOCKS_OF_LISTENERS) == [(0,)]


def test_a_batch_and_a_unique_job_go_through_a_transaction_pooler(pooled: PsycopgDriver) -> None:
    """O28. Plans that depend on the session would show here: batches, arrays, binary keys, times in UTC."""
    client = Client(pooled)
    results = client.insert_many(
        [InsertManyParams(EncodedArgs("some_kind", f'{{"n":{n}}}')) for n in range(50)]
    )
    assert [result.job.args for result in results] == [{"n": n} for n in range(50)]
    unique = [
        client.insert(EncodedArgs("once", "{}"), unique_opts=UniqueOpts(by_args=True)) for _ in range(10)
    ]
    assert [result.unique_skipped_as_duplicate for result in unique] == [False] + [True] * 9
    assert {result.job.created_at.utcoffset().total_seconds() for result in unique} == {0.0}


def test_a_poll_only_worker_says_so(tmp_path: Path, postgres_url: str) -> None:
    """O29. The banner names both delays, so that nobody is surprised; the setting does what the flag does."""
    env = {"RIVER_DATABASE_URL": postgres_url}
    assert run("migrate", "up", env=env).code == 0
    (tmp_path / "tasks.py").write_text(TASKS + "\napp.conf.river_poll_only = True\n")
    with worker(tmp_path, env=env) as process:
        process.wait_logged("polling only: tasks start within 1 s, cancellations are seen within 2 s")
        with psycopg.connect(postgres_url) as connection:
            wait_for(lambda: process.logged("works celery"), "the start")
            assert connection.execute(LOCKS_OF_LISTENERS).fetchone() == (0,)
