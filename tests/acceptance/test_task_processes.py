"""Processes that tasks start: forks, multiprocessing, programs; none costs a child or is deaf to signals."""

from __future__ import annotations

from pathlib import Path

from river_compat.celery import Celery
from tests.acceptance.commands import run, worker

TASKS = """
import multiprocessing
import os
import signal
import subprocess
import sys
import time

from river_compat.celery import Celery

app = Celery("tasks")
FORK = multiprocessing.get_context("fork")


def square(number):
    return number * number


@app.task
def forks(how):
    pid = os.fork()
    if pid == 0:
        if how == "exits":
            sys.exit(3)
        if how == "raises":
            raise ValueError("in the fork")
        return "of the fork"
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@app.task
def terminates():
    multiprocessing.current_process()._config["daemon"] = False
    process = FORK.Process(target=time.sleep, args=(600,))
    process.start()
    process.terminate()
    process.join()
    return process.exitcode


@app.task
def pools():
    multiprocessing.current_process()._config["daemon"] = False
    with FORK.Pool(2) as pool:
        return pool.map(square, range(4))


@app.task
def hangs_up(name):
    process = subprocess.Popen(["sleep", "600"])
    process.send_signal(getattr(signal, name))
    try:
        return process.wait(60)
    finally:
        process.kill()
"""
CALLS = {
    "fork that exits": ("forks", ("exits",), 3),
    "fork that raises": ("forks", ("raises",), 1),
    "fork that returns": ("forks", ("returns",), 0),
    "process that is terminated": ("terminates", (), -15),
    "pool of processes": ("pools", (), [0, 1, 4, 9]),
    "program that is hung up": ("hangs_up", ("SIGHUP",), -1),
    "program that is told to quit": ("hangs_up", ("SIGQUIT",), -3),
}


def test_processes_of_tasks_end_as_anywhere(tmp_path: Path) -> None:
    """One child runs them all, one after the other: none answers for its task or keeps the child."""
    (tmp_path / "tasks.py").write_text(TASKS)
    url = f"sqlite:///{tmp_path}/river.sqlite3"
    assert run("-d", url, "migrate", "up").code == 0
    app = Celery("asks", broker=url, set_as_current=False)
    sent = {name: app.send_task(f"tasks.{task}", args) for name, (task, args, _) in CALLS.items()}
    with worker(tmp_path, "-c", "1", env={"RIVER_DATABASE_URL": url}):
        found = {name: result.get(timeout=60) for name, result in sent.items()}
    app.close()
    assert found == {name: expected for name, (_, _, expected) in CALLS.items()}
