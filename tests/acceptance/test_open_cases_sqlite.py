"""What users of SQLite run into: several processes on one file, and old code in running workers."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.acceptance.commands import environment, query, run, wait_for, worker

TASKS = '''
from pathlib import Path

from river_compat.celery import Celery

app = Celery("tasks")


@app.task
def count(number):
    """Leave a line; one write of this length is not torn apart."""
    with Path("ledger").open("ab", buffering=0) as file:
        file.write(f"{number}\\n".encode())
'''
PRODUCE = """
import sys
from tasks import count

first, size = int(sys.argv[1]), int(sys.argv[2])
for number in range(first, first + size):
    count.delay(number)
"""
EDITED = """
from pathlib import Path
from river_compat.celery import Celery

app = Celery("tasks")


@app.task
def version():
    Path("ran").write_text("CODE")
"""
WATCHED = re.compile(r"^(watchfiles .*)$", re.MULTILINE)


@pytest.fixture
def env(tmp_path: Path, sqlite_path: Path) -> dict[str, str]:
    """A migrated SQLite file, and an application beside it."""
    (tmp_path / "tasks.py").write_text(TASKS)
    env = {"RIVER_DATABASE_URL": f"sqlite:///{sqlite_path}"}
    assert run("migrate", "up", env=env).code == 0
    return env


def states(env: dict[str, str]) -> dict[str, int]:
    """How many rows are in each state."""
    return dict(query(env["RIVER_DATABASE_URL"], "SELECT state, count(*) FROM river_job GROUP BY 1"))


@pytest.mark.parametrize(
    "count", [400, pytest.param(2000, marks=[pytest.mark.long, pytest.mark.timeout(600)])]
)
def test_many_processes_share_one_file(tmp_path: Path, env: dict[str, str], count: int) -> None:
    """O62. Two workers, four producers, one worker killed and started again: every task runs, none by two.

    What the killed one had begun may run again, with the next attempt; nobody sees a locked database.
    """
    size = count // 4
    with (
        worker(tmp_path, "-c", "4", "-n", "stays", env=env),
        worker(tmp_path, "-c", "4", "-n", "dies", env=env) as dies,
    ):
        producers = [
            subprocess.Popen(
                [sys.executable, "-c", PRODUCE, str(number * size), str(size)],
                cwd=tmp_path,
                env=environment(env),
                stderr=subprocess.PIPE,
                text=True,
            )
            for number in range(4)
        ]
        wait_for(lambda: states(env).get("completed", 0) > count // 8, "the first results")
        dies.signal(signal.SIGKILL)
        dies.exit_code()
        with worker(tmp_path, "-c", "4", "-n", "dies", env=env):
            said = [producer.communicate()[1] for producer in producers]
            assert said == [""] * 4  # before the wait for what a producer that failed has not sent
            patience = max(count / 8, 120)
            wait_for(lambda: states(env) == {"completed": count}, f"all tasks of {states(env)}", patience)
        logs = [line for log in tmp_path.glob("worker*.log") for line in log.read_text().splitlines()]
    assert [line for line in logs if "locked" in line] == []
    runs = Counter((tmp_path / "ledger").read_text().split())
    assert set(runs) == {str(number) for number in range(count)}
    [(again,)] = query(env["RIVER_DATABASE_URL"], "SELECT count(*) FROM river_job WHERE attempt > 1")
    assert sum(runs.values()) - count <= again


def test_a_changed_file_is_run_anew(tmp_path: Path, env: dict[str, str]) -> None:
    """O62. The line of the guide restarts the worker when the code changes; running tasks finish before."""
    guide = Path(__file__).parents[2] / "docs/howto/run-a-worker.md"
    match = WATCHED.search(guide.read_text())
    assert match is not None
    arguments = match[1].replace("shop", "tasks").split(maxsplit=1)[1]
    source = tmp_path / "tasks.py"
    source.write_text(EDITED.replace("CODE", "old"))
    command = f"{sys.executable} -m watchfiles {arguments}".replace(
        "river-compat", f"{sys.executable} -m river_compat"
    )
    with (
        (tmp_path / "watched.log").open("ab") as log,
        subprocess.Popen(
            ["bash", "-c", f"exec {command}"], cwd=tmp_path, env=environment(env), stdout=log, stderr=log
        ) as process,
    ):
        try:
            assert ran(tmp_path, env) == "old"
            source.write_text(EDITED.replace("CODE", "newer"))
            wait_for(lambda: ran(tmp_path, env) == "newer", "the new code")
        finally:
            process.terminate()
            process.wait(60)


def ran(folder: Path, env: dict[str, str]) -> str:
    """Which code a task that is sent now is run by."""
    (folder / "ran").unlink(missing_ok=True)
    send = "from tasks import *; version.delay()"
    subprocess.run([sys.executable, "-c", send], cwd=folder, env=environment(env), check=True)
    wait_for(lambda: (folder / "ran").exists() and (folder / "ran").read_text(), "a run")
    return (folder / "ran").read_text()
