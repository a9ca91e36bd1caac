"""What listeners hear of the life of a worker's process, and where `print` goes."""

from __future__ import annotations

import json
import signal
import sys
from collections import Counter
from pathlib import Path
from subprocess import run as run_program

import pytest

from tests.acceptance.commands import environment, run, wait_for, worker

TASKS = """
import json
import os

from river_compat.celery import Celery, signals

app = Celery("tasks")
NAMES = (
    "import_modules", "celeryd_init", "worker_init", "after_setup_logger", "after_setup_task_logger",
    "celeryd_after_setup", "worker_before_create_process", "worker_process_init", "worker_ready",
    "task_received", "task_prerun", "task_success", "task_postrun", "worker_shutting_down",
    "worker_process_shutdown",
    "worker_shutdown",
)


def note(*facts):
    with open("heard", "a") as file:
        file.write(json.dumps([os.getpid(), *facts]) + "\\n")


def listen(name):
    def receiver(sender=None, **kwargs):
        shown = sender if isinstance(sender, str) else getattr(sender, "hostname", None)
        facts = {key: kwargs[key] for key in ("sig", "how", "exitcode") if key in kwargs}
        note(name, shown, facts)

    getattr(signals, name).connect(receiver, weak=False)


for name in (*NAMES, "task_revoked", "task_unknown", "task_rejected"):
    listen(name)


@signals.celeryd_init.connect(sender="one@here")
def configure(conf=None, **kwargs):
    conf.worker_concurrency = 1


@app.task
def work():
    print("printed in a task")
    return os.getpid()
"""
BEFORE = [
    "import_modules",
    "celeryd_init",
    "worker_init",
    "after_setup_logger",
    "after_setup_task_logger",
    "celeryd_after_setup",
]
TASK = ["task_received", "task_prerun", "task_success", "task_postrun"]


def heard(folder: Path) -> list[list[object]]:
    """What the receivers have written down."""
    path = folder / "heard"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def names(folder: Path) -> list[str]:
    """Which signals came, in order."""
    return [str(line[1]) for line in heard(folder)]


@pytest.mark.parametrize("pool", ["prefork", "threads", "solo"])
def test_the_life_of_a_worker(tmp_path: Path, pool: str) -> None:
    """Each signal once, in Celery's order; those of processes in the processes that run tasks.

    Rows 13.12, 13.13, 13.14, 21.3.
    """
    env = {"RIVER_DATABASE_URL": "sqlite:///life.db"}
    (tmp_path / "tasks.py").write_text(TASKS)
    assert run("migrate", "up", cwd=tmp_path, env=env).code == 0
    with worker(tmp_path, "-P", pool, "-n", "one@here", env=env) as process:
        wait_for(lambda: "worker_ready" in names(tmp_path), "the worker")
        script = "from tasks import work; work.delay()"
        run_program([sys.executable, "-c", script], cwd=tmp_path, env=environment(env), check=True)
        wait_for(lambda: "task_postrun" in names(tmp_path), "the task")
        process.signal(signal.SIGTERM)
        assert process.exit_code() == 0
    lines = heard(tmp_path)
    order = [str(line[1]) for line in lines]
    main = next(line[0] for line in lines if line[1] == "worker_ready")
    children = {str(line[1]) for line in lines if line[0] != main}
    of_processes = {"worker_process_init", "worker_process_shutdown", *TASK[1:]}
    assert order[: len(BEFORE)] == BEFORE
    assert [name for name in order if name in TASK] == TASK
    assert order[-1] == "worker_shutdown"
    assert order.index("worker_shutting_down") > order.index("task_postrun")
    if pool == "prefork":
        assert children == {*of_processes, "worker_before_create_process"}
        assert order.index("worker_before_create_process") < order.index("worker_process_init")
    else:
        assert children == set()
        assert order.index("worker_process_init") < order.index("worker_ready")
    assert all(order.count(name) == 1 for name in order)
    senders = {str(line[1]): line[2] for line in lines}
    assert all(
        senders[name] == "one@here" for name in ("celeryd_init", "worker_ready", "worker_process_init")
    )
    told = next(line[3] for line in lines if line[1] == "worker_shutting_down")
    assert told == {"sig": "SIGTERM", "how": "Warm", "exitcode": 0}
    [printed] = [line for line in process.log.read_text().splitlines() if "printed in a task" in line]
    assert ": WARNING/" in printed


NOT_RUN = ("task_revoked", "task_unknown", "task_rejected")
CALLS = """
from tasks import app, work
from river_core import EncodedArgs

work.apply_async(expires=0.001)
app.send_task("nobody.knows")
fields = '"content_type": "application/json", "content_encoding": "utf-8", "body": "[1]"'
task = '{"id": "x", "framework": "celery", "name": "tasks.work", %s}' % fields
app.runtime.client.insert(EncodedArgs("python_task", '{"version": 1, "task": %s}' % task), queue="celery")
app.runtime.client.insert(EncodedArgs("python_task", '{"version": 1}'), queue="celery")
"""


@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_what_never_runs_is_told_by_the_main_process(tmp_path: Path, pool: str) -> None:
    """Rows 13.8, 13.10. As in Celery; nothing is received of what is not to run."""
    env = {"RIVER_DATABASE_URL": "sqlite:///life.db"}
    (tmp_path / "tasks.py").write_text(TASKS)
    assert run("migrate", "up", cwd=tmp_path, env=env).code == 0
    run_program([sys.executable, "-c", CALLS], cwd=tmp_path, env=environment(env), check=True)
    with worker(tmp_path, "-P", pool, "-c", "1", env=env) as process:
        expected = Counter([*NOT_RUN, *(["task_rejected"] if pool == "prefork" else [])])

        def told() -> bool:
            so_far = Counter(names(tmp_path))  # what is put off is told again when it comes back
            return "worker_ready" in so_far and so_far >= expected

        wait_for(told, f"{expected}")
        process.signal(signal.SIGTERM)
        assert process.exit_code() == 0
    lines = heard(tmp_path)
    main = next(line[0] for line in lines if line[1] == "worker_ready")
    assert {line[0] for line in lines if line[1] in NOT_RUN} == {main}
    assert not {"task_received", "task_prerun"} & {str(line[1]) for line in lines}
