"""Worker processes of the real command, and the one who kills them and their children."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.acceptance.commands import environment
from tests.acceptance.workflows.ledger import LEDGER, Kill, last_lines, running_now

WORKERS = 3
CHILDREN = 3
OURS = f"{LEDGER}=".encode()


class Fleet:
    """Workers of the application; one that is killed is replaced."""

    def __init__(self, url: str, ledger: Path) -> None:
        """Take the database and where bodies note their runs."""
        self.ledger = ledger
        self.log = ledger.with_suffix(".log")
        self._url = url
        self._started = 0
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Start one more."""
        self._started += 1
        name = str(self._started)
        root = str(Path(__file__).parents[3])
        own = {
            "WORKFLOWS_URL": self._url,
            LEDGER: str(self.ledger),
            "WORKFLOWS_WORKER": name,
            "PYTHONPATH": root,
        }
        command = [
            sys.executable,
            "-m",
            "river_compat",
            "-A",
            "tests.acceptance.workflows.program:app",
            "worker",
        ]
        pool = os.environ.get("WORKFLOWS_POOL", "prefork")
        with self.log.open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [*command, "-P", pool, "-c", str(CHILDREN), "--loglevel", "INFO"],
                env=environment(own),
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    def kill_worker(self, chance: random.Random) -> Kill:
        """Kill a worker without warning, and start another."""
        name = chance.choice(sorted(self._processes))
        process = self._processes.pop(name)
        before = time.monotonic()
        process.kill()
        process.wait()
        kill = Kill(before, time.monotonic(), worker=name)
        self.start()
        return kill

    def kill_child(self, chance: random.Random) -> Kill | None:
        """Kill a child that runs a body just now, if there is one."""
        runs = running_now(last_lines(self.ledger))
        workers = {process.pid for process in self._processes.values()}
        pids = sorted({run.pid for run in runs if run.worker in self._processes} - workers)
        if not pids:
            return None
        pid = chance.choice(pids)
        with suppress(OSError):
            if OURS in Path(f"/proc/{pid}/environ").read_bytes():
                before = time.monotonic()
                os.kill(pid, signal.SIGKILL)
                return Kill(before, time.monotonic(), pid=pid)
        return None

    def stop(self) -> None:
        """Stop all."""
        for process in self._processes.values():
            process.kill()
            process.wait()


@contextmanager
def fleet_of(url: str, ledger: Path) -> Iterator[Fleet]:
    """Workers for a block."""
    fleet = Fleet(url, ledger)
    try:
        for _ in range(WORKERS):
            fleet.start()
        yield fleet
    finally:
        fleet.stop()


class Killer(threading.Thread):
    """Kills several children and one worker in every round."""

    def __init__(
        self, fleet: Fleet, seed: int, seconds: float, children: int, rounds: int | None = None
    ) -> None:
        """Begin a round every `seconds`, until told to stop or until there were `rounds` of them.

        Rows of a worker that was killed come back when another one has lived for some 15 seconds, so rounds
        that go on need to be longer than that divided by the workers that stay.
        """
        super().__init__(name="killer")
        self.kills: list[Kill] = []
        self._fleet = fleet
        self._chance = random.Random(seed)  # noqa: S311 - no secret
        self._pause = seconds / (children + 1)
        self._children = children
        self._turns = None if rounds is None else rounds * (children + 1)
        self._over = threading.Event()

    def run(self) -> None:
        """Kill, now a child and now a worker."""
        turn = 0
        while turn != self._turns and not self._over.wait(self._pause):
            if not last_lines(self._fleet.ledger):
                continue
            turn += 1
            is_worker = turn % (self._children + 1) == 0
            kill = (
                self._fleet.kill_worker(self._chance) if is_worker else self._fleet.kill_child(self._chance)
            )
            if kill is not None:
                self.kills.append(kill)

    def stop(self) -> None:
        """End, and wait for the end."""
        self._over.set()
        self.join()
