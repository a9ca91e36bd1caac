"""Runs an application's tasks on one side: its worker, and beside it the process that sends them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.peer.applications.profile import Profile

ROOT = Path(__file__).parents[3]
INSIDE = "tests.peer.applications.inside"
STOP_TIMEOUT = 30.0
_INHERITED = ("PATH", "HOME", "LANG", "TMPDIR")
_LOG_END = 3000


class CheckError(Exception):
    """A process of the check failed; the text holds the end of what it said."""


@dataclass(frozen=True)
class Side:
    """One of the two: `ours` on Postgres, `celery` on Redis. Both have a database with the tables."""

    name: str
    profile: Profile
    profile_path: Path
    checkout: Path
    python: Path
    database_url: str
    redis_url: str
    directory: Path

    @property
    def _folder(self) -> Path:
        return self.checkout / self.profile.folder

    def _environment(self) -> dict[str, str]:
        database, server = urlsplit(self.database_url), urlsplit(self.redis_url)
        facts = {
            "host": database.hostname or "",
            "port": str(database.port or 5432),
            "user": database.username or "",
            "password": database.password or "",
            "database": database.path.lstrip("/"),
            "broker": self.redis_url,
            "redis_host": server.hostname or "",
            "redis_port": str(server.port),
            "directory": str(self.directory),
        }
        return {
            **{name: os.environ[name] for name in _INHERITED if name in os.environ},
            **{name: value.format_map(facts) for name, value in self.profile.environment.items()},
            "PYTHONPATH": os.pathsep.join([str(self._folder), str(ROOT)]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PEER_SIDE": self.name,
            "PEER_PROFILE": str(self.profile_path),
            "PEER_RECORD": str(self.directory / "record"),
            "PEER_BROKER": self.redis_url,
        }

    def run(self, module: str, *arguments: Path) -> None:
        """Run one of the modules inside the application; raises CheckError when it fails."""
        log = self.directory / f"{module}.log"
        with log.open("w") as file:
            command = [self.python, "-m", f"{INSIDE}.{module}", *arguments]
            done = subprocess.run(
                command, cwd=self._folder, env=self._environment(), stdout=file, stderr=subprocess.STDOUT
            )
        if done.returncode:
            raise CheckError(f"{self.name}: {module} ended with {done.returncode}\n{_end(log)}")

    def calls(self) -> dict[str, dict[str, Any]]:
        """Import the application's task modules; return its tasks with the arguments they are called with."""
        file = self.directory / "calls.json"
        self.run("listing", file)
        return dict(json.loads(file.read_text("utf-8")))

    def outcomes(self, calls: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        """Call every task through a worker and return what became of each."""
        source, target = self.directory / "calls.json", self.directory / "outcomes.json"
        source.write_text(json.dumps(calls), "utf-8")
        (self.directory / "record").unlink(missing_ok=True)  # of an earlier run, where logs are kept
        with self._worker():
            self.run("sending", source, target)
        return dict(json.loads(target.read_text("utf-8")))

    @contextmanager
    def _worker(self) -> Iterator[None]:
        library = "celery" if self.name == "celery" else "river_compat"
        command = [self.python, "-m", library, "-A", f"{INSIDE}.application", "worker", "-l", "INFO"]
        command += ["-P", "prefork", "-c", "1", "-Q", ",".join(self.profile.queues)]
        with (self.directory / "worker.log").open("w") as log:
            worker = subprocess.Popen(
                command,
                cwd=self._folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            yield
            if worker.poll() is not None:
                raise CheckError(f"{self.name}: the worker has ended\n{_end(self.directory / 'worker.log')}")
        finally:
            worker.terminate()
            try:
                worker.wait(STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()


def _end(log: Path) -> str:
    return log.read_text("utf-8", "replace")[-_LOG_END:]
