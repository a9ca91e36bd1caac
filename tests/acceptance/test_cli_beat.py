"""`river-compat beat` and `worker -B` as processes: restarts, several at once, outages of one, signals."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from river_core import open_driver
from tests.acceptance.commands import WorkerProcess, environment, query, run, wait_for, worker
from tests.acceptance.own_server import own_server

APPLICATION = """
from river_compat.celery import Celery

app = Celery("{name}", worker_hijack_root_logger=True)
app.conf.beat_schedule = {{"{name}": {{"task": "{name}.tick", "schedule": {seconds}}}}}


@app.task(name="{name}.tick")
def tick():
    return "ran"
"""
SENT = "SELECT count(*) FROM river_job WHERE kind = 'python_task'"
NAMES = {
    True: "SELECT args->'task'->>'name', count(*) FROM river_job WHERE kind = 'python_task' GROUP BY 1",
    False: "SELECT json_extract(json(args), '$.task.name'), count(*) FROM river_job "
    "WHERE kind = 'python_task' GROUP BY 1",
}


class Site:
    """A directory with applications, and a migrated database."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self.started = 0
        assert run("-d", url, "migrate", "up", cwd=folder).code == 0

    def application(self, name: str, seconds: float) -> str:
        """Write an application that ticks so often, and return its name."""
        (self.folder / f"{name}.py").write_text(APPLICATION.format(name=name, seconds=seconds))
        return name

    @contextmanager
    def beat(self, name: str, *options: str) -> Iterator[WorkerProcess]:
        """Run a beat for the block, or until it is told to end."""
        self.started += 1
        log = self.folder / f"beat{self.started}.log"
        command = [sys.executable, "-m", "river_compat", "-A", name, "-d", self.url, "beat", "-l", "INFO"]
        with (
            log.open("ab") as output,
            subprocess.Popen(
                [*command, *options], cwd=self.folder, env=environment(), stdout=output, stderr=output
            ) as process,
        ):
            try:
                yield WorkerProcess(process, log)
            finally:
                if process.poll() is None:
                    process.kill()

    def sent(self) -> int:
        """How many tasks were sent."""
        return int(query(self.url, SENT)[0][0])

    def sent_by_name(self) -> dict[str, int]:
        """How many tasks were sent, by name."""
        return dict(query(self.url, NAMES[self.url.startswith("postgres")]))


@pytest.fixture
def site(tmp_path: Path, database_url: str) -> Site:
    """On Postgres and on SQLite."""
    return Site(tmp_path, database_url)


def test_a_beat_sends_and_ends_by_a_signal(site: Site) -> None:
    """Rows 14.3, 14.12."""
    pid = site.folder / "beat.pid"
    name = site.application("shop", 1)
    with site.beat(name, "--pidfile", str(pid), "-s", "celerybeat-schedule", "--max-interval", "1") as beat:
        wait_for(lambda: site.sent() >= 2, "two ticks")
        assert int(pid.read_text()) == beat.process.pid
        beat.signal(signal.SIGTERM)
        assert beat.exit_code() == 0
    assert not pid.exists()
    text = beat.log.read_text()
    assert "without effect: --schedule" in text
    assert "entries -> 1" in text
    assert "PersistentScheduler" in text
    assert not list(site.folder.glob("celerybeat-schedule*"))


def test_a_schedule_longer_than_the_life_of_its_beats_is_kept(site: Site) -> None:
    """Open case O23: every 4 s, by beats none of which lives for so long."""
    name = site.application("shop", 4)
    began = time.monotonic()
    while site.sent() < 3:
        assert time.monotonic() - began < 200
        with site.beat(name) as beat:
            beat.wait_logged("beat: Starting")
            time.sleep(1.0)  # the life of the beat is what is tested
            beat.signal(signal.SIGINT)
            assert beat.exit_code() == 0
    assert site.sent() <= (time.monotonic() - began) / 4 + 1


def test_the_beats_of_two_applications_send_their_own(site: Site) -> None:
    """Open case O24."""
    one, two = site.application("one", 1), site.application("two", 1)
    with site.beat(one) as first, site.beat(two):
        wait_for(lambda: min(site.sent_by_name().get(f"{n}.tick", 0) for n in (one, two)) >= 2, "both")
        first.signal(signal.SIGKILL)
        first.exit_code()
        before = site.sent_by_name()
        wait_for(lambda: site.sent_by_name()["two.tick"] >= before["two.tick"] + 2, "the other one's ticks")
        assert site.sent_by_name()["one.tick"] == before["one.tick"]


def test_three_workers_with_beats_send_each_tick_once(site: Site) -> None:
    """Rows 14.1, 14.12, 15.8."""
    site.application("tasks", 2)
    options = ("-d", site.url, "-B", "-c", "1")
    began = time.monotonic()
    with (
        worker(site.folder, *options) as one,
        worker(site.folder, *options) as two,
        worker(site.folder, *options) as three,
    ):
        wait_for(lambda: site.sent() >= 3, "three ticks")
        one.signal(signal.SIGKILL)
        wait_for(lambda: site.sent() >= 5, "ticks after the first one's death")
        assert site.sent() <= (time.monotonic() - began) / 2 + 1
        for process in (two, three):
            process.signal(signal.SIGTERM)
            assert process.exit_code() == 0


def test_beats_need_no_leader(site: Site) -> None:
    """Rows 14.8, 14.12. Another language's client leads, all the time; two beats send each tick once."""
    leader = (
        "INSERT INTO river_leader (elected_at, expires_at, leader_id, name) "
        "VALUES ('2026-08-07 14:30:00', '2126-08-07 14:30:00', 'a_client_of_another_language', 'default')"
    )
    with closing(open_driver(site.url)) as driver, driver.connect() as connection:
        connection.run_script(leader)
    name = site.application("shop", 1)
    began = time.monotonic()
    with site.beat(name) as first, site.beat(name) as second:
        wait_for(lambda: site.sent() >= 4, "four ticks")
        assert site.sent() <= time.monotonic() - began + 1
        for beat in (first, second):
            beat.signal(signal.SIGTERM)
            assert beat.exit_code() == 0
    assert query(site.url, "SELECT leader_id FROM river_leader") == [("a_client_of_another_language",)]


def test_what_cannot_be_is_said_before_anything_runs(site: Site) -> None:
    """Rows 14.8, 14.12. Open case O26."""
    name = site.application("shop", 1)
    for options, words in {
        ("-S", "redbeat.RedBeatScheduler"): "redbeat",
        ("-S", "no.such:Scheduler"): "cannot be imported",
        ("--max-interval", "0"): "--max-interval",
    }.items():
        ran = run("-A", name, "-d", site.url, "beat", *options, cwd=site.folder)
        assert (ran.code, words in ran.stderr) == (2, True), ran.stderr
    ran = run("-A", name, "-d", site.url, "worker", "-B", "--scheduler", "redbeat:X", cwd=site.folder)
    assert (ran.code, "redbeat" in ran.stderr) == (2, True), ran.stderr


def test_a_pidfile_of_a_running_process_is_respected(site: Site) -> None:
    """Row 14.12."""
    name = site.application("shop", 1)
    pid = site.folder / "beat.pid"
    pid.write_text("1\n")
    ran = run("-A", name, "-d", site.url, "beat", "--pidfile", str(pid), cwd=site.folder)
    assert (ran.code, "process 1" in ran.stderr) == (73, True)
    assert pid.exists()


def test_a_database_without_tables_is_named(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(APPLICATION.format(name="shop", seconds=1))
    ran = run("-A", "shop", "-d", f"sqlite:///{tmp_path}/none.db", "beat", cwd=tmp_path)
    assert ran.code == 1
    assert "migrate up" in ran.stderr


@pytest.mark.postgres
def test_a_beat_outlives_crashes_of_its_server(tmp_path: Path) -> None:
    """Row 14.13."""
    with own_server({}) as server:
        site = Site(tmp_path, server.url)
        name = site.application("shop", 1)
        began = time.monotonic()
        with site.beat(name) as beat:
            for _ in range(2):
                before = site.sent()
                wait_for(lambda: site.sent() >= before + 2, "ticks")  # noqa: B023 - called within the turn
                server.restart()
            before = site.sent()
            wait_for(lambda: site.sent() >= before + 2, "ticks after the crashes")
            beat.signal(signal.SIGTERM)
            assert beat.exit_code() == 0
        assert site.sent() <= time.monotonic() - began + 1
