"""What users run into when workers stop, die, come back, or disagree about the time."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from river_core import Client, EncodedArgs, JobRow, JobState, UniqueOpts
from river_core.db import leaders
from river_core.drivers.base import Driver
from river_core.drivers.psycopg import PsycopgDriver
from river_core.task import Job
from river_core.worker.recovery import Recovery, RecoveryTiming
from tests.acceptance.commands import environment, query, run, wait_for, worker
from tests.acceptance.cut import cuttable
from tests.runtime.stored import put_running, states
from tests.runtime.workers import insert, registry, row, running

AT_ONCE = RecoveryTiming(interval=0.05, dead_after=0.0, quiet=0.0, gap=30.0)
DEAD = "gone_11111111_pyl"
LIVE = (
    JobState.AVAILABLE,
    JobState.PENDING,
    JobState.RETRYABLE,
    JobState.RUNNING,
    JobState.SCHEDULED,
)
ONCE: dict[str, Any] = {"unique_opts": UniqueOpts(by_args=True, by_state=LIVE)}
TASKS = '''
import time
from pathlib import Path

from river_compat.celery import Celery

app = Celery("tasks")


@app.task
def stamp(name):
    """Leave a file, which says that it ran."""
    Path(f"{name}.ran").touch()


@app.task(bind=True)
def twice(self, name):
    if not self.request.retries:
        raise self.retry(countdown=1)
    Path(f"{name}.ran").touch()


app.conf.beat_schedule = {"often": {"task": "tasks.stamp", "schedule": 1.0, "args": ("tick",)}}


@app.task(acks_late=False)
def hold_once(name):
    return hold(name)


@app.task
def hold(name):
    with Path(f"{name}.started").open("a") as file:
        file.write("x")
    while not Path(f"{name}.go").exists():
        time.sleep(0.02)
    return name
'''
WRONG_CLOCK = """
import copyreg, datetime, time

shift, true, true_time = datetime.timedelta(seconds=SHIFT), datetime.datetime, time.time


class Kind(type):
    def __instancecheck__(cls, value):
        return isinstance(value, true)


class Wrong(true, metaclass=Kind):
    @classmethod
    def now(cls, tz=None):
        return true.now(tz) + shift

    @classmethod
    def utcnow(cls):
        return true.utcnow() + shift


def restored(*parts):
    return true(*parts)


datetime.datetime = Wrong
time.time = lambda: true_time() + SHIFT
# what goes between processes would name the class, and its name is another one's now
copyreg.pickle(true, lambda value: (restored, value.__reduce_ex__(2)[1]))
"""
STALLED = textwrap.dedent(
    """
    import pathlib, sys
    from river_core import Registry, Worker, WorkerConfig, open_driver, run_worker

    url, folder = sys.argv[1], pathlib.Path(sys.argv[2])

    def work(job):
        (folder / "began").touch()
        while not (folder / "release").exists():
            job.wait_stopped(0.02)

    config = WorkerConfig(
        queues={"default": 1}, job_timeout=None, leader_election_disabled=True, poll_only=True, id="stalled"
    )
    sys.exit(run_worker(Worker(open_driver(url), Registry().add("work", work), config)))
    """
)


class Site:
    """A directory with an application, and a migrated database."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self.env = {"RIVER_DATABASE_URL": url}
        (folder / "tasks.py").write_text(TASKS)
        assert run("migrate", "up", env=self.env).code == 0

    def send(self, calls: str) -> None:
        """Run calls in a producer process with the right time."""
        script = f"from tasks import *; {calls}"
        subprocess.run([sys.executable, "-c", script], cwd=self.folder, env=environment(self.env), check=True)

    def ran_at(self, name: str) -> float:
        """When a task ran, as the row of its claim says it by the database's clock."""
        [(at,)] = query(
            self.url,
            "SELECT extract(epoch FROM attempted_at - scheduled_at)::float8 FROM river_job "
            f"WHERE args::text LIKE '%{name}%'",
        )
        return float(at)


@pytest.fixture
def site(tmp_path: Path, postgres_url: str) -> Site:
    """An application on Postgres."""
    return Site(tmp_path, postgres_url)


# -- clocks


def wrong_clock(shift: int, site: Site) -> dict[str, str]:
    """The environment of a process in which Python's clock is wrong by some seconds.

    A library that fakes the system's calls would do, were it not for its waits, which then end too late.
    """
    place = site.folder / f"clock{shift}"
    place.mkdir(exist_ok=True)
    (place / "sitecustomize.py").write_text(WRONG_CLOCK.replace("SHIFT", str(shift)))
    return {**site.env, "PYTHONPATH": str(place), "TZ": "UTC"}  # Django sets the zone of this process


@contextmanager
def worker_whose_clock_is(shift: int, site: Site, *options: str) -> Iterator[None]:
    """A worker process with a wrong clock, whose children have it too."""
    with worker(site.folder, "-c", "4", *options, env=wrong_clock(shift, site)) as process:
        process.wait_logged("works celery")
        line = next(line for line in process.log.read_text().splitlines() if "works celery" in line)
        said = datetime.fromisoformat(line[1:20]).replace(tzinfo=UTC)
        assert abs((said - datetime.now(UTC)).total_seconds() - shift) < 60
        yield


@pytest.mark.postgres
@pytest.mark.parametrize(("shift", "pool"), [(90, "prefork"), (-90, "prefork"), (90, "threads")])
def test_a_worker_with_a_wrong_clock_drops_and_delays_nothing(site: Site, shift: int, pool: str) -> None:
    """O27. Delayed tasks start when the database says so, retries too, and expiring ones are not expired."""
    with worker_whose_clock_is(shift, site, "-P", pool):
        site.send(
            "stamp.delay('first'); stamp.apply_async(('soon',), countdown=2); "
            "stamp.apply_async(('later',), countdown=6); stamp.apply_async(('expiring',), expires=60); "
            "twice.delay('again')"
        )
        for name in ("first", "expiring", "again", "soon", "later"):
            wait_for(lambda name=name: (site.folder / f"{name}.ran").exists(), f"{name} under {shift} s")
        wait_for(
            lambda: query(site.url, "SELECT DISTINCT state::text FROM river_job") == [("completed",)],
            "all ends",
        )
    for name in ("soon", "later"):
        assert 0 <= site.ran_at(name) < 30
    waits = "SELECT extract(epoch FROM scheduled_at - created_at)::float8 FROM river_job WHERE "
    [(wait,)] = query(site.url, f"{waits} args::text LIKE '%again%' ORDER BY id DESC LIMIT 1")
    assert abs(wait - 1) < 30


@pytest.mark.postgres
def test_an_expired_task_is_expired_by_the_databases_clock(site: Site) -> None:
    """O27. The other side of it: what the database finds expired does not run, whatever the worker thinks."""
    site.send("stamp.apply_async(('gone',), expires=0.5)")
    expired = "SELECT now() > created_at + interval '1 second' FROM river_job"
    wait_for(lambda: query(site.url, expired) == [(True,)], "the expiry")
    with worker_whose_clock_is(-90, site):
        wait_for(
            lambda: query(site.url, "SELECT state::text FROM river_job") == [("cancelled",)], "the verdict"
        )
    assert not (site.folder / "gone.ran").exists()


@pytest.mark.postgres
def test_beats_with_wrong_clocks_tick_together(site: Site) -> None:
    """O27. Ticks go by the database's clock: none is sent twice or early, whichever beat is left."""
    sent = (
        "SELECT extract(epoch FROM created_at)::float8 FROM river_job WHERE kind = 'python_task' ORDER BY 1"
    )

    def wait_for_ticks(count: int) -> None:
        wait_for(lambda: len(query(site.url, sent)) >= count, f"{count} ticks")

    began = time.monotonic()
    with beat_whose_clock_is(-90, site) as slow:
        wait_for_ticks(2)
        with beat_whose_clock_is(90, site):
            wait_for_ticks(5)
            slow.kill()
            wait_for_ticks(7)
            with beat_whose_clock_is(-90, site):
                wait_for_ticks(9)
        ticks = [at for (at,) in query(site.url, sent)]
    assert len(ticks) <= time.monotonic() - began + 1
    assert min(later - earlier for earlier, later in pairwise(ticks)) > 0.5


@contextmanager
def beat_whose_clock_is(shift: int, site: Site) -> Iterator[subprocess.Popen[bytes]]:
    """A beat process with a wrong clock."""
    command = [sys.executable, "-m", "river_compat", "-A", "tasks", "beat"]
    with subprocess.Popen(
        command, cwd=site.folder, env=environment(wrong_clock(shift, site)), stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield process
        finally:
            process.kill()


# -- rescue


@pytest.mark.postgres
def test_a_late_writer_changes_nothing_and_says_so(
    postgres_driver: PsycopgDriver, postgres_url: str, tmp_path: Path
) -> None:
    """O38. A stopped process wakes up after another one has finished its job: one success, one line."""
    log = tmp_path / "stalled.log"
    with (
        log.open("ab") as output,
        subprocess.Popen(
            [sys.executable, "-c", STALLED, postgres_url, str(tmp_path)], stderr=output
        ) as stalled,
    ):
        try:
            job = insert(postgres_driver, "work")
            wait_for((tmp_path / "began").exists, "the first run")
            stalled.send_signal(signal.SIGSTOP)
            runs: list[int] = []
            tasks = registry(work=lambda job: runs.append(job.row.attempt))
            time.sleep(0.6)  # the horizon below must have passed by the database's clock
            with running(postgres_driver, tasks, rescue_stuck_jobs_after=0.5, job_timeout=0.5):
                wait_for(lambda: row(postgres_driver, job.id).state is JobState.COMPLETED, "the second run")
            finished = row(postgres_driver, job.id)
            (tmp_path / "release").touch()
            stalled.send_signal(signal.SIGCONT)
            text = f"jobs {job.id} were taken over or deleted while they ran here"
            wait_for(lambda: text in log.read_text(), "the line of the late writer")
            assert row(postgres_driver, job.id) == finished
        finally:
            stalled.kill()
    assert runs == [2]
    assert [error.attempt for error in finished.errors] == [1]


@pytest.mark.postgres
def test_orphans_are_found_though_the_same_name_is_back_at_once(site: Site) -> None:
    """O39. Killed, started again under its name within a second, and every registry row deleted by hand.

    The orphan is at work again well within the case's minute.
    """
    with worker(site.folder, "-n", "same@host", "-c", "2", env=site.env) as first:
        site.send("hold.delay('a')")
        wait_for(lambda: (site.folder / "a.started").exists(), "the first run")
        first.signal(signal.SIGKILL)
        first.exit_code()
    [(dead,)] = query(site.url, "SELECT attempted_by[1] FROM river_job")
    query(site.url, "DELETE FROM river_leader")
    query(site.url, "DELETE FROM river_queue")
    killed = time.monotonic()
    with worker(site.folder, "-n", "same@host", "-c", "2", env=site.env) as second:
        wait_for(lambda: (site.folder / "a.started").read_text() == "xx", "the second run")
        rescued = time.monotonic() - killed
        (site.folder / "a.go").touch()
        wait_for(lambda: query(site.url, "SELECT state::text FROM river_job") == [("completed",)], "the end")
        second.signal(signal.SIGTERM)
        assert second.exit_code() == 0
    [(names, attempt)] = query(site.url, "SELECT attempted_by, attempt FROM river_job")
    assert attempt == 2
    assert names[0] == dead
    assert names[1] != dead
    assert all(name.startswith("same") for name in names)
    assert rescued < 60


def test_a_leader_that_is_stuck_holds_no_orphan_up(driver: Driver) -> None:
    """O39. Every client looks, whoever leads: here somebody leads for ever and does nothing."""
    orphan = put_running(driver, DEAD)
    bid = leaders.leader_attempt_elect(driver.sql, "stuck", ttl=86_400.0, now=datetime.now(UTC))
    with driver.connect() as connection:
        assert connection.fetch(bid)
    assert recovered(driver, orphan) == ["available"]


# -- rescue and uniqueness


def recovered(driver: Driver, *ids: int) -> list[str]:
    """The states of orphans once somebody has looked after them."""
    observer = Recovery(driver, "observer_00000000_pyl", timing=AT_ONCE)
    observer.start()
    try:
        wait_for(lambda: "running" not in states(driver, *ids), "the recovery")
    finally:
        observer.stop()
    return states(driver, *ids)


class AtOnce:
    """A policy that does not let a retry wait."""

    def next_retry(self, job: JobRow, now: datetime) -> datetime:
        """Now."""
        return now


def orphaned(driver: Driver, args: EncodedArgs, **columns: int) -> int:
    """A unique job that runs under a client that is gone."""
    client = Client(driver)
    job = client.insert(args, **ONCE).job
    client.job_delete(job.id)
    return put_running(
        driver,
        DEAD,
        kind=args.kind,
        args=json.loads(args.text),
        unique_key=job.unique_key,
        unique_states=job.unique_states,
        **columns,
    )


def test_a_killed_unique_job_frees_its_key_with_its_end(
    driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    """O40. Until the rescue it is a duplicate, as its enqueuer alone hears; after it the next one is in."""
    client, args = Client(driver), EncodedArgs("work", '{"n":1}')
    orphan = orphaned(driver, args, max_attempts=1)
    clash = client.insert(args, **ONCE)
    assert (clash.unique_skipped_as_duplicate, clash.job.id) == (True, orphan)
    assert recovered(driver, orphan) == ["discarded"]
    assert not client.insert(args, **ONCE).unique_skipped_as_duplicate
    assert not [record for record in caplog.records if "unique" in record.getMessage()]


def test_a_rescued_unique_job_does_not_collide_with_itself(driver: Driver) -> None:
    """O40. With attempts left it is what lives: it runs again, fails, is retried, and frees its key."""
    client, args = Client(driver), EncodedArgs("work", '{"n":1}')
    orphan = orphaned(driver, args)
    runs: list[int] = []

    def work(job: Job) -> None:
        runs.append(job.row.attempt)
        if len(runs) == 1:
            raise RuntimeError("once more")

    assert recovered(driver, orphan) == ["available"]
    assert client.insert(args, **ONCE).job.id == orphan
    with running(driver, registry(work=work), retry_policy=AtOnce()):
        wait_for(lambda: states(driver, orphan) == ["completed"], "the success")
    assert runs == [2, 3]
    assert not client.insert(args, **ONCE).unique_skipped_as_duplicate


def test_a_cancelled_unique_job_frees_its_key_at_once(driver: Driver) -> None:
    """O40. The next one is accepted right after the cancellation."""
    client, args = Client(driver), EncodedArgs("work", '{"n":1}')
    first = client.insert(args, **ONCE).job
    client.job_cancel(first.id)
    second = client.insert(args, **ONCE)
    assert (second.unique_skipped_as_duplicate, states(driver, first.id)) == (False, ["cancelled"])


# -- a worker that loses the database


@pytest.mark.postgres
def test_a_worker_without_the_database_ends_its_tasks_unless_told_otherwise(site: Site) -> None:
    """Row 11.14. After 8 seconds without its lock a worker kills children, since others may take over.

    With the setting at False, on purpose, the task goes on: its result is written later, and it ran once.
    A killed one with acks_late=False is not run again.
    """
    setting = "worker_cancel_long_running_tasks_on_connection_loss"
    with cuttable(site.url) as way:
        env = {"RIVER_DATABASE_URL": way.url}
        with (
            worker(site.folder, "-c", "2", "-Q", "ends", env=env) as ends,
            worker(site.folder, "-c", "1", "-Q", "goes-on", f"{setting}=False", env=env) as goes_on,
        ):
            site.send("hold.apply_async(('a',), queue='ends'); hold.apply_async(('b',), queue='goes-on')")
            site.send("hold_once.apply_async(('c',), queue='ends')")
            for name in "abc":
                wait_for(lambda name=name: (site.folder / f"{name}.started").exists(), f"the run of {name}")
            way.cut()
            ends.wait_logged("others may take its jobs over")
            goes_on.wait_logged("what runs here goes on")
            way.mend()
            wait_for(lambda: (site.folder / "a.started").read_text() == "xx", "the second run", 100)
            for name in "abc":
                (site.folder / f"{name}.go").touch()
            done = "SELECT attempt FROM river_job WHERE state = 'completed' ORDER BY id"
            wait_for(lambda: len(query(site.url, done)) == 2, "both ends")
            assert (site.folder / "b.started").read_text() == "x"
            assert query(site.url, done)[1] == (1,)
            kind = "metadata->'python_task_exception'->>'exc_type'"
            given_up = f"SELECT {kind} FROM river_job WHERE state = 'discarded'"
            wait_for(lambda: query(site.url, given_up) == [("WorkerLostError",)], "the end of the one run")
            assert (site.folder / "c.started").read_text() == "x"


# -- delayed tasks


@pytest.mark.postgres
@pytest.mark.parametrize("count", [5_000, pytest.param(50_000, marks=pytest.mark.long)])
def test_delayed_tasks_stay_in_the_table(site: Site, count: int) -> None:
    """O01. A worker holds none of them in memory, and runs at once what is due."""
    with worker(site.folder, "-c", "2", env=site.env) as process:
        process.wait_logged("ready")
        before = resident_kib(process.process.pid)
        many = f"group(stamp.s(str(n)) for n in range({count})).apply_async(countdown=3600)"
        site.send(f"from river_compat.celery import group; {many}")
        site.send("stamp.delay('ping')")
        wait_for((site.folder / "ping.ran").exists, "the task that is due")
        grown = resident_kib(process.process.pid) - before
        states = query(site.url, "SELECT state::text, count(*) FROM river_job GROUP BY 1 ORDER BY 1")
    assert grown < 30 * 1024
    assert states[-1] == ("scheduled", count)


def resident_kib(pid: int) -> int:
    """The memory of a process."""
    line = next(
        line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")
    )
    return int(line.split()[1])
