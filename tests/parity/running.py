"""Runs the cases on one backend: one worker process, one observing process, an answer per case."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.parity.backends import OURS, Backend

STOP_TIMEOUT = 15.0
LAST_CHARACTERS = 4000
LOOK = 0.5


class ObservationError(AssertionError):
    """A case could not be observed; the text holds what the processes said."""


@dataclass
class Run:
    """The processes of one backend, from `start()` to `stop()`, and what they answered so far."""

    backend: Backend
    directory: Path
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _ended: bool = False

    def start(self, cases: Sequence[str]) -> None:
        """Start the worker and the process that observes the cases in their order."""
        self.backend.copy_program(self.directory)
        observe = [sys.executable, "-m", "program.run", *cases]
        self._worker = self._start(self.backend.worker_command, "worker.log", subprocess.DEVNULL)
        self._observer = self._start(observe, "observer.log", subprocess.PIPE)
        self._reader = threading.Thread(target=self._read_answers, name=f"read-{self.backend.name}")
        self._reader.start()

    def observation(self, case: str, timeout: float) -> Any:
        """Wait for the answer of a case; raises ObservationError when it failed or does not come."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while case not in self.answers and self._is_running() and time.monotonic() < deadline:
                self._changed.wait(LOOK)
            answer = self.answers.get(case)
        if answer is None:
            raise ObservationError(f"{case} gave no answer on {self.backend.name}\n{self._logs()}")
        if "failure" in answer:
            raise ObservationError(f"{case} failed on {self.backend.name}:\n{answer['failure']}")
        return answer["observation"]

    def stop(self) -> None:
        """End both processes and wait for them."""
        for process in (self._observer, self._worker):
            process.terminate()
            try:
                process.wait(STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._reader.join()

    def _is_running(self) -> bool:
        return not self._ended and self._worker.poll() is None

    def _start(self, command: list[str], log: str, output: int) -> subprocess.Popen[str]:
        with (self.directory / log).open("w") as file:
            return subprocess.Popen(
                command,
                cwd=self.directory,
                env={
                    **os.environ,
                    **self.backend.environment(self.directory),
                    "PYTHONDONTWRITEBYTECODE": "1",
                },
                stdin=subprocess.DEVNULL,
                stdout=file if output == subprocess.DEVNULL else output,
                stderr=file,
                text=True,
            )

    def _read_answers(self) -> None:
        assert self._observer.stdout is not None
        with self._observer.stdout as lines:
            for line in lines:
                answer = json.loads(line.replace(OURS, "celery"))
                with self._changed:
                    self.answers[answer["case"]] = answer
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _logs(self) -> str:
        texts = (
            (name, (self.directory / name).read_text(errors="replace"))
            for name in ("observer.log", "worker.log")
        )
        return "\n".join(f"--- {name}\n{text[-LAST_CHARACTERS:]}" for name, text in texts)
