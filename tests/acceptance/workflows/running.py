"""Sends random workflows, kills workers while they run, and looks at what came of it."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from river_compat.celery import Celery
from tests.acceptance.commands import environment
from tests.acceptance.workflows.shapes import Shape, expected, random_shape, signature_of, tags_of

WORKERS = 3
SLOTS = 4
SECONDS_BETWEEN_KILLS = 2.0
DEADLINE_SECONDS = 120.0
MAX_RERUNS_A_KILL = 64
"""Bodies that had ended, but whose outcomes were not written yet, run again beside those in the slots."""


@dataclass
class Findings:
    """What was seen in the end."""

    workflows: int
    tasks: int = 0
    kills: int = 0
    reruns: int = 0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)


class Fleet:
    """Worker processes of the command; one that is killed is replaced."""

    def __init__(self, url: str, ledger: Path) -> None:
        """Take the database and where bodies note their runs."""
        root = Path(__file__).parents[3]
        self._environment = environment(
            {"WORKFLOWS_URL": url, "WORKFLOWS_LEDGER": str(ledger), "PYTHONPATH": str(root)}
        )
        self._ledger = ledger
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start one more."""
        command = [sys.executable, "-m", "river_compat", "-A", "tests.acceptance.workflows.program:app"]
        options = [
            "worker",
            "-P",
            os.environ.get("WORKFLOWS_POOL", "threads"),
            "-c",
            str(SLOTS),
            "--loglevel",
            "WARNING",
        ]
        with self._ledger.with_suffix(".log").open("ab") as log:
            self._processes.append(
                subprocess.Popen([*command, *options], env=self._environment, stdout=log, stderr=log)
            )

    def kill_one(self, chance: random.Random) -> None:
        """Kill one without warning, and start another."""
        victim = self._processes.pop(chance.randrange(len(self._processes)))
        victim.kill()
        victim.wait()
        self.start()

    def stop(self) -> None:
        """Stop all."""
        for process in self._processes:
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


def examine(url: str, folder: Path, count: int, seed: int, kills: int) -> Findings:
    """Run `count` random workflows while `kills` workers are killed; the schema is there already."""
    chance = random.Random(seed)  # noqa: S311 - the same workflows again for the same seed
    ledger = folder / "ledger.jsonl"
    ledger.touch()
    findings = Findings(count)
    started = time.monotonic()
    with Celery("sender", broker=url, set_as_current=False) as app, fleet_of(url, ledger) as fleet:
        from tests.acceptance.workflows.program import work

        task = app.task(work.run.__func__, name=work.name, shared=False, bind=True, lazy=False)
        sent = []
        for number in range(count):
            shape = random_shape(chance, f"w{number}")
            sent.append((shape, signature_of(shape, task).apply_async()))
            if findings.kills < kills * number // count:
                fleet.kill_one(chance)
                findings.kills += 1
        _wait(fleet, [result for _, result in sent], chance, findings, kills)
        _check(sent, ledger, findings)
    findings.seconds = time.monotonic() - started
    return findings


def _wait(fleet: Fleet, results: list[Any], chance: random.Random, findings: Findings, kills: int) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS + 0.2 * len(results)
    next_kill = time.monotonic() + SECONDS_BETWEEN_KILLS
    open_ones = results
    while open_ones and time.monotonic() < deadline:
        open_ones = [result for result in open_ones if not result.ready()]
        if findings.kills < kills and time.monotonic() > next_kill:
            fleet.kill_one(chance)
            findings.kills += 1
            next_kill = time.monotonic() + SECONDS_BETWEEN_KILLS
        time.sleep(0.2)
    findings.faults.extend(f"{result.id} did not end" for result in open_ones)


def _check(sent: list[tuple[Shape, Any]], ledger: Path, findings: Findings) -> None:
    runs: dict[str, list[int]] = {}
    for line in ledger.read_text("utf-8").splitlines():
        tag, attempt, _ = json.loads(line)
        runs.setdefault(tag, []).append(attempt)
    for shape, result in sent:
        value = result.result if result.state == "SUCCESS" else f"{result.state} {result.result!r}"
        wanted = expected(shape).taken
        if value != wanted:
            findings.faults.append(f"{result.id} gave {value}, not {wanted}")
        for tag in tags_of(shape):
            findings.tasks += 1
            _check_runs(tag, runs.get(tag, []), findings)
    if findings.reruns > findings.kills * MAX_RERUNS_A_KILL:
        findings.faults.append(f"{findings.reruns} runs more than tasks after {findings.kills} kills")


def _check_runs(tag: str, attempts: list[int], findings: Findings) -> None:
    """A body runs once, and again only in a later attempt of its row: after a kill."""
    repeated = [attempt for attempt, times in Counter(attempts).items() if times > 1]
    if not attempts or repeated:
        findings.faults.append(f"task {tag} ran in the attempts {attempts}")
    findings.reruns += max(0, len(attempts) - 1)


def own_environment(url: str, ledger: Path) -> dict[str, str]:
    """Return the variables by which the program finds database and ledger in this process."""
    return {**os.environ, "WORKFLOWS_URL": url, "WORKFLOWS_LEDGER": str(ledger)}
