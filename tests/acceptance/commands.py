"""Runs the real `river-compat` command as a process, and reads its database by plain SQL.

The plain reader is written for the tests alone; of the product it uses only the decoder of SQLite's
binary JSON, which old SQLite libraries lack.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

DEADLINE = 60.0
LOOK = 0.02
_INHERITED = ("PATH", "HOME", "LANG", "TMPDIR", "VIRTUAL_ENV")


@dataclass(frozen=True)
class Ran:
    """A command that has ended."""

    code: int
    stdout: str
    stderr: str


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment that names no database but through `extra`."""
    return {name: os.environ[name] for name in _INHERITED if name in os.environ} | dict(extra or {})


def run(
    *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None, stdin: str = ""
) -> Ran:
    """Run `river-compat` to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "river_compat", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment(env),
        input=stdin,
        timeout=DEADLINE * 2,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def wait_for(look: Callable[[], T], what: str, seconds: float = DEADLINE) -> T:
    """Return the first true answer of `look`; fail, naming `what`, when none comes in time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if answer := look():
            return answer
        time.sleep(LOOK)  # between two looks at a fact of another process
    raise AssertionError(f"{what} did not come in {seconds:g} s")


@dataclass(frozen=True)
class WorkerProcess:
    """A started worker; its log is a file."""

    process: subprocess.Popen[bytes]
    log: Path

    def logged(self, text: str) -> bool:
        """Whether the log has the text."""
        return text in self.log.read_text("utf-8")

    def wait_logged(self, text: str) -> None:
        """Wait for the text in the log."""
        wait_for(lambda: self.logged(text) or self._ended(text), f"log line {text!r}")

    def _ended(self, text: str) -> bool:
        if self.process.poll() is not None:
            raise AssertionError(
                f"the worker ended before it logged {text!r}:\n{self.log.read_text('utf-8')}"
            )
        return False

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def exit_code(self, seconds: float = DEADLINE) -> int:
        """Wait for the end and return the code; negative for a signal."""
        return self.process.wait(seconds)


@contextmanager
def worker(folder: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Iterator[WorkerProcess]:
    """Start `river-compat -A tasks worker` in the folder; kill it at the end if it is still there.

    Each has a log of its own: what another worker says is no fact about this one.
    """
    log = folder / f"worker{len(list(folder.glob('worker*.log')))}.log"
    command = [sys.executable, "-m", "river_compat", "-A", "tasks", "worker", "-l", "INFO", *arguments]
    with (
        log.open("ab") as output,
        subprocess.Popen(command, cwd=folder, env=environment(env), stdout=output, stderr=output) as process,
    ):
        try:
            yield WorkerProcess(process, log)
        finally:
            if process.poll() is None:
                process.kill()


def query(url: str, sql: str) -> list[tuple[Any, ...]]:
    """Run one statement of plain SQL on the database of the URL; `->>` works on both databases."""
    if url.startswith("sqlite:///"):
        return _query_sqlite(url.removeprefix("sqlite:///"), sql)
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []


def _query_sqlite(path: str, sql: str) -> list[tuple[Any, ...]]:
    import sqlite3

    from river_core.drivers import sqlite_json

    with closing(sqlite3.connect(path, timeout=10)) as connection:
        sqlite_json.register(connection)
        return connection.execute(sql).fetchall()
