"""The demo, step by step: prepare a directory, migrate, enqueue, work, stop, look, say where to go on.

The worker is the real `river-compat worker` in a process of its own.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path
from types import ModuleType

from river_compat.demo.calls import make_calls, place_orders
from river_compat.demo.rows import CALLS, count_orders, problems, read_rows
from river_compat.demo.screen import Screen
from river_core.drivers import open_driver
from river_core.errors import RiverError
from river_core.migrate import Migrator

SHIPPED = ("shop.py", "rows.sql")
LEFT_BEHIND = ("river.sqlite3*", "worker.log")
SLOTS = 4
WORK_SECONDS = 40.0
STOP_SECONDS = 15.0
LOOK_SECONDS = 0.1
_FOREIGN_SETTINGS = ("RIVER_", "CELERY_", "DATABASE_URL", "PG")


class DemoError(RiverError):
    """The demo did not go as it should; the text says what to look at."""


def run_demo(folder: Path, screen: Screen) -> None:
    """Run the whole demo in `folder`; raises DemoError, or what a step raised."""
    forget_settings()
    prepare(folder)
    database = folder / "river.sqlite3"
    url = f"sqlite:///{database.resolve()}"
    screen.step("Create River's tables", f"in {database}: {migrate(url)} migrations")
    shop = load_shop(folder, url)
    with shop.app:  # the last connection that closes moves the rows from the WAL into the file
        calls = list(make_calls(shop))
        refused = place_orders(shop, str(database))
        screen.step("Enqueue", f"{CALLS} tasks as rows of river_job; one more is rolled back: {refused}")
        with worker_process(folder) as worker:
            screen.step("Work", f"with river-compat -A shop worker -c {SLOTS}, process {worker.pid}")
            watch(folder, worker, screen)
            screen.results(calls)
            screen.step("Stop", f"by TERM: the worker ended with code {stop(worker)}")
        wrong = [problem for call in calls if (problem := call.problem())]
    rows = read_rows(folder)
    screen.step("Look", f"at the rows by plain SQL, {folder / 'rows.sql'}")
    screen.rows(rows)
    if wrong := [*wrong, *problems(rows, count_orders(folder))]:
        raise DemoError("; ".join(wrong) + f" (the worker's log is {folder / 'worker.log'})")


def forget_settings() -> None:
    """Take what would name another database out of the environment of this process and of the worker."""
    for name in [name for name in os.environ if name.startswith(_FOREIGN_SETTINGS)]:
        del os.environ[name]


def prepare(folder: Path) -> None:
    """Make the directory, remove what an earlier demo left, and put the application into it."""
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in LEFT_BEHIND:
        for old in folder.glob(pattern):
            old.unlink()
    for name in SHIPPED:
        text = files("river_compat.demo").joinpath(name).read_text("utf-8")
        (folder / name).write_text(text, "utf-8")


def migrate(url: str) -> int:
    """Apply River's migrations and return how many there were."""
    with closing(open_driver(url)) as driver:
        return len(Migrator(driver).migrate_up().versions)


def load_shop(folder: Path, url: str) -> ModuleType:
    """Import the application as a producer would, with its database named by an absolute path."""
    sys.path.insert(0, str(folder.resolve()))
    importlib.invalidate_caches()
    shop = importlib.import_module("shop")
    shop.app.conf.broker_url = url
    return shop


@contextmanager
def worker_process(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start the worker with its log in `worker.log`; kill it at the end if it is still there."""
    command = [sys.executable, "-m", "river_compat", "-A", "shop", "worker", "-l", "INFO", "-c", str(SLOTS)]
    with (
        (folder / "worker.log").open("ab") as log,
        subprocess.Popen(command, cwd=folder, stdout=log, stderr=log) as process,  # noqa: S603 - our own command
    ):
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def watch(folder: Path, worker: subprocess.Popen[bytes], screen: Screen) -> None:
    """Show the rows until every call has ended. Raises DemoError when the worker dies or time runs out."""
    start = time.monotonic()
    with screen.progress(CALLS) as show:
        while time.monotonic() - start < WORK_SECONDS:
            rows = read_rows(folder)
            show(rows)
            if sum(row.is_end_of_call for row in rows) == CALLS:
                return
            if worker.poll() is not None:
                raise DemoError(
                    f"the worker ended with code {worker.returncode}; read {folder / 'worker.log'}"
                )
            time.sleep(LOOK_SECONDS)
    raise DemoError(f"not done after {WORK_SECONDS:g} s; read {folder / 'worker.log'}")


def stop(worker: subprocess.Popen[bytes]) -> int:
    """Send TERM and return the exit code; raises DemoError unless it is 0."""
    worker.send_signal(signal.SIGTERM)
    try:
        code = worker.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise DemoError(f"the worker did not stop within {STOP_SECONDS:g} s") from error
    if code != 0:
        raise DemoError(f"the worker ended with code {code}, not 0")
    return code
