"""A worker process that waits for jobs while a benchmark watches it from outside."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class IdleWorker:
    """`python -m benchmarks.native` without an end of its own; polls once a second as River does."""

    def __init__(self, url: str, cooldown: float, *options: str) -> None:
        """Start it and wait until it says that it works."""
        pacing = ("--cooldown", str(cooldown), "--poll", "1", "--max-workers", "10")
        command = [sys.executable, "-m", "benchmarks.native", url, *pacing, *options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._read()

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def end(self) -> dict[str, Any]:
        """Stop the worker and return what it measured."""
        self._process.send_signal(signal.SIGTERM)
        figures: dict[str, Any] = json.loads(self._read())
        self._process.wait()
        return figures

    def kill(self) -> None:
        """End it in any case; harmless after `end`."""
        self._process.kill()
        self._process.wait()

    def _read(self) -> str:
        line = self._process.stdout.readline() if self._process.stdout is not None else ""
        if not line:
            raise SystemExit("the worker ended early; its messages are above")
        return line


@contextmanager
def idle_worker(url: str, cooldown: float, *options: str) -> Iterator[IdleWorker]:
    """Give a worker that is ready, and leave none behind."""
    worker = IdleWorker(url, cooldown, *options)
    try:
        yield worker
    finally:
        worker.kill()
