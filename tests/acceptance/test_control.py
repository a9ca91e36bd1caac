"""Remote control with real processes: a probe, revokes without workers, terminate that hits no other task."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.commands import DEADLINE, Ran, environment, query, run, wait_for

TASKS = """
import time
from pathlib import Path

from river_compat.celery import Celery

app = Celery("tasks")


@app.task
def quick(name):
    Path(f"{name}.started").touch()
    time.sleep(0.05)
    return name


@app.task
def long(name, seconds):
    Path(f"{name}.started").touch()
    time.sleep(seconds)
    return name
"""
ROUNDS = """
import json, random, time
from pathlib import Path
from tasks import app, long, quick

killed = []
for n in range({rounds}):
    first, second = quick.delay(f"a{{n}}"), long.delay(f"b{{n}}", 0.3)
    until = time.monotonic() + 60
    while not Path(f"a{{n}}.started").exists() and time.monotonic() < until:
        time.sleep(0.001)
    time.sleep(random.uniform(0.03, 0.07))
    first.revoke(terminate=True)
    second.get(timeout=60, propagate=False)
    if second.state != "SUCCESS":
        killed.append((n, second.state, repr(second.result)))
    first.get(timeout=60, propagate=False)
    assert first.state in ("SUCCESS", "REVOKED"), first.state
print(json.dumps(killed))
"""

AUTOSCALE = """
import json, time
from tasks import app

reply = app.control.autoscale({most}, {least}, reply=True, timeout=60, limit=1)
until = time.monotonic() + 60
while time.monotonic() < until:
    stats = app.control.inspect(timeout=60, limit=1).stats()["w1@host"]
    children = len(stats["pool"]["processes"])
    if children == {least}:
        break
print(json.dumps(dict(reply=reply, sizes=[stats["pool"]["max-concurrency"], children])))
"""


class Shop:
    """A directory with an application on a migrated database, and Celery's command line for it."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self.env = environment({"RIVER_DATABASE_URL": url})
        (folder / "tasks.py").write_text(TASKS)
        assert run("migrate", "up", env=self.env).code == 0

    def celery(self, *arguments: str) -> Ran:
        """Run `python -m river_compat.celery -A tasks …` to its end."""
        done = subprocess.run(
            [sys.executable, "-m", "river_compat.celery", "-A", "tasks", *arguments],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=DEADLINE * 2,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def python(self, script: str) -> str:
        """Run a script beside the application and return what it prints."""
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=DEADLINE * 4,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def worker(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """A worker started as unit files start Celery's; killed at the end if it is still there."""
        options: Sequence[str] = (
            *("worker", "-l", "INFO", "-n", "w1@host", "-Q", "celery,other", "--prefetch-multiplier", "1"),
            *("-O", "fair", "--without-gossip", "--without-mingle", "-E", *arguments),
        )
        command = [sys.executable, "-m", "river_compat.celery", "-A", "tasks", *options]
        log = (self.folder / "worker.log").open("ab")
        with log, subprocess.Popen(command, cwd=self.folder, env=self.env, stdout=log, stderr=log) as process:
            try:
                wait_for(lambda: "works" in (self.folder / "worker.log").read_text(), "the start")
                yield process
            finally:
                if process.poll() is None:
                    process.kill()


@pytest.fixture
def shop(tmp_path: Path, database_url: str) -> Shop:
    """An application on each database."""
    return Shop(tmp_path, database_url)


def test_a_liveness_probe_tells_by_its_exit_status(shop: Shop) -> None:
    """Row 15.11, O11. 0 with the worker, 69 without it or for another name."""
    assert shop.celery("inspect", "ping", "-t", "0.3").code == 69
    with shop.worker("-c", "1", "worker.max_tasks_per_child=7") as process:
        told = shop.celery("inspect", "ping", "-d", "w1@host", "-t", "60", "--json")
        assert (told.code, json.loads(told.stdout)) == (0, {"w1@host": {"ok": "pong"}})
        assert shop.celery("inspect", "ping", "-d", "other@host", "-t", "0.3").code == 69
        stats = shop.celery("inspect", "stats", "-d", "w1@host", "-t", "60", "-j")
        assert json.loads(stats.stdout)["w1@host"]["pool"]["max-tasks-per-child"] == 7
        shop.celery("control", "shutdown", "-d", "w1@host", "-t", "0.3")
        assert process.wait(DEADLINE) == 0


def test_tasks_are_called_read_and_purged_from_the_command_line(shop: Shop) -> None:
    """Rows 15.9, 15.11. `--purge` of a worker does the same before it starts."""
    first = shop.celery("call", "tasks.quick", "-a", '["one"]').stdout.strip()
    assert shop.celery("purge", "-f").stdout == "Purged 1 task of celery.\n"
    shop.celery("call", "tasks.quick", "-a", '["two"]')
    with shop.worker("-c", "1", "--purge"):
        last = shop.celery(
            "call", "tasks.quick", "-k", '{"name": "three"}', "--queue", "other"
        ).stdout.strip()
        wait_for(lambda: shop.celery("result", last).stdout == "three\n", "the result")
    assert shop.celery("result", first).code == 3
    assert not (shop.folder / "one.started").exists()
    assert not (shop.folder / "two.started").exists()


def test_a_task_that_has_not_ended_tells_why(shop: Shop) -> None:
    """A queue that nobody works, a paused one, and a task that no worker knows all look PENDING."""
    dead = shop.celery("call", "tasks.quick", "-a", '["dead"]', "--queue", "dead").stdout.strip()
    unknown = shop.celery("call", "tasks.renamed", "--queue", "other").stdout.strip()
    with shop.worker("-c", "1", "-P", "threads"):
        wait_for(lambda: "put aside: task 'tasks.renamed'" in shop.celery("result", unknown).stdout, "why")
    shop.python("from tasks import app; app.runtime.client.queue_pause('celery')")
    paused = shop.celery("call", "tasks.quick", "-a", '["paused"]').stdout.strip()

    first, second, third = shop.celery("result", dead).stdout.splitlines()
    assert first == "PENDING"
    assert "available, attempt 0 of" in second
    assert third == "  queue dead: no worker has worked it; start one with -Q, or send to another queue"
    assert "queue celery: paused since" in shop.celery("result", paused).stdout

    told = json.loads(run("-A", "tasks", "result", unknown, "--json", cwd=shop.folder, env=shop.env).stdout)
    assert (told["status"], told["row"]["queue"], told["row"]["queue_paused_at"]) == (
        "PENDING",
        "other",
        None,
    )
    assert "'tasks.renamed' is not registered" in told["row"]["waiting_for"]
    assert told["row"]["queue_last_worked_at"]
    assert told["row"]["attempted_by"].startswith("w1@host")


def test_a_revoke_needs_no_worker(shop: Shop) -> None:
    """Row 12.1. What was revoked while none was up is not run by one that starts."""
    task_id = shop.celery("call", "tasks.quick", "-a", '["revoked"]').stdout.strip()
    shop.python(f"from tasks import app; app.control.revoke({task_id!r})")
    other = shop.celery("call", "tasks.quick", "-a", '["other"]').stdout.strip()
    with shop.worker("-c", "1"):
        wait_for(lambda: shop.celery("result", other).stdout == "other\n", "the other's result")
    assert not (shop.folder / "revoked.started").exists()
    assert "TaskRevokedError" in shop.celery("result", task_id).stdout


@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_terminate_never_hits_another_task(shop: Shop, pool: str) -> None:
    """Row 12.2, O10. Sent about when the task ends, while the next one waits for its process."""
    with shop.worker("-c", "1", "-P", pool):
        assert json.loads(shop.python(ROUNDS.format(rounds=12))) == []


@pytest.mark.long
def test_terminate_never_hits_another_task_in_fifty_rounds(shop: Shop) -> None:
    """Row 12.2, O10."""
    with shop.worker("-c", "1"):
        assert json.loads(shop.python(ROUNDS.format(rounds=50))) == []


def test_terminate_ends_a_task_that_sleeps(shop: Shop) -> None:
    """Row 12.2. Its child process is ended, the state is REVOKED, and the worker works on."""
    script = (
        "import time; from pathlib import Path; from tasks import *; r = long.delay('x', 600);"
        "\nwhile not Path('x.started').exists(): time.sleep(0.01)"
        "\nr.revoke(terminate=True); r.get(timeout=60, propagate=False)"
        "\nprint(r.state, quick.delay('next').get(timeout=60))"
    )
    with shop.worker("-c", "1"):
        assert shop.python(script) == "REVOKED next\n"
    states = query(
        shop.url, "SELECT CAST(state AS text) FROM river_job WHERE kind = 'python_task' ORDER BY id"
    )
    assert states == [("cancelled",), ("completed",)]


def test_autoscale_changes_both_ends(shop: Shop) -> None:
    """Row 15.7. Celery's answers, and as many child processes."""

    def autoscale(most: str, least: str) -> tuple[Any, list[int]]:
        told = json.loads(shop.python(AUTOSCALE.format(most=most, least=least)))
        return told["reply"], told["sizes"]

    with shop.worker("-P", "prefork", "--autoscale", "4,1"):
        assert autoscale("3", "2") == ([{"w1@host": {"ok": "autoscale now max=3 min=2"}}], [3, 2])
        assert autoscale("None", "3") == ([{"w1@host": {"ok": "autoscale now max=3 min=3"}}], [3, 3])


def test_a_rate_limit_outlives_its_worker_until_it_is_taken_back(shop: Shop) -> None:
    """Row 10.7. By the word `default`, which gives the code its say again; an unknown task is refused."""

    def told(answer: str, *words: str) -> None:
        """Ask until the worker, which may be busy, answers in time; to ask twice changes nothing."""
        ask = ("control", "-t", "2", "rate_limit", *words)
        wait_for(lambda: answer in shop.celery(*ask).stdout, f"the answer {answer!r}")

    with shop.worker("-c", "1", "-P", "threads"):
        told("new rate limit set successfully", "tasks.quick", "1/h")
        told("unknown task", "tasks.unknown", "1/h")
    with shop.worker("-c", "1", "-P", "threads"):
        for name in "ab":
            shop.celery("call", "tasks.quick", "-a", f'["{name}"]')
        put_off = "SELECT count(*) FROM river_job WHERE kind = 'python_task' AND state = 'scheduled'"
        wait_for(lambda: query(shop.url, put_off) == [(1,)], "the wait of one")
        told("the task's own again", "tasks.quick", "default")
        wait_for(lambda: all((shop.folder / f"{name}.started").exists() for name in "ab"), "both runs")
