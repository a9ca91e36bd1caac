"""Sends random workflows while workers and their children are killed, and looks at what came of it."""

from __future__ import annotations

import json
import random
import re
import time
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from river_compat.celery import Celery
from river_core import Client, open_driver
from tests.acceptance.workflows import audit
from tests.acceptance.workflows.fleet import Fleet, Killer, fleet_of
from tests.acceptance.workflows.forecast import Failure, Forecast, forecast
from tests.acceptance.workflows.ledger import Kill, Run, last_lines, read_runs
from tests.acceptance.workflows.shapes import ORDINARY, Shape, random_shape, signature_of

SWEPT = re.compile(r".* heard by the sweep .*")
BOOM = re.compile(r"BoomError\(\\*'([\w./]+)\\*'\)")
"""In the text of a ChordError, which holds those of others with their quotes escaped once more."""
MAX_FAULTS = 1_000
SECONDS_ALONE = 180.0
"""How long the last rows may take once everything is sent: a worker's death, four times over."""


@dataclass(frozen=True)
class Plan:
    """How many workflows, and how often what is killed, or set back from outside, while they run."""

    workflows: int
    seed: int = 1
    seconds_a_round: float = 8.0
    children_a_round: int = 8
    rounds: int | None = None
    set_back_seconds: float = 1.0
    set_going: bool = True
    """Whether waiting rows are set going by hand, too."""


@dataclass
class Findings:
    """What was seen in the end."""

    workflows: int
    failed: int = 0
    rows: int = 0
    runs: int = 0
    child_kills: int = 0
    worker_kills: int = 0
    set_back: int = 0
    set_going: int = 0
    reruns: int = 0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """One line of figures."""
        return (
            f"{self.workflows} workflows ({self.failed} of them meant to fail), {self.rows} rows, "
            f"{self.runs} runs; {self.child_kills} children and {self.worker_kills} workers killed, "
            f"{self.set_back} ended rows set back, {self.set_going} waiting rows set going, "
            f"{self.reruns} more runs; {self.seconds:.0f} s, {len(self.faults)} faults"
        )


def examine(url: str, folder: Path, plan: Plan) -> Findings:
    """Run random workflows under kills; the schema is there already."""
    return _Examination(url, folder, plan).examine()


class _Examination:
    def __init__(self, url: str, folder: Path, plan: Plan) -> None:
        self._url, self._plan = url, plan
        self._ledger = folder / "ledger.jsonl"
        self._ledger.touch()
        self._chance = random.Random(plan.seed)  # noqa: S311 - the same workflows again for the same seed
        self._sent: list[tuple[Shape, Any]] = []
        self._ordinary: set[str] = set()
        self._found = Findings(plan.workflows)
        self._set_back: list[Kill] = []
        self._set_going: list[int] = []
        self._next_hand = 0.0

    def examine(self) -> Findings:
        started = time.monotonic()
        audit.install(self._url)
        with Celery("sender", broker=self._url, set_as_current=False) as app:
            with fleet_of(self._url, self._ledger) as fleet:
                plan = self._plan
                killer = Killer(fleet, plan.seed, plan.seconds_a_round, plan.children_a_round, plan.rounds)
                killer.start()
                try:
                    self._send(app)
                    self._wait(fleet)
                finally:
                    killer.stop()
            self._count(killer.kills)
            self._check([*killer.kills, *self._set_back], fleet.log)
        self._found.seconds = time.monotonic() - started
        return self._found

    def _send(self, app: Celery) -> None:
        with closing(open_driver(self._url)) as driver:
            client = Client(driver)
            for number in range(self._plan.workflows):
                shape = random_shape(self._chance, f"w{number}")
                self._ordinary |= _ordinary_tags(shape)
                self._sent.append((shape, signature_of(shape, app).apply_async()))
                self._interfere(client)

    def _wait(self, fleet: Fleet) -> None:
        until = time.monotonic() + SECONDS_ALONE + 0.2 * self._plan.workflows
        with closing(open_driver(self._url)) as driver:
            client = Client(driver)
            while (left := audit.unfinished(driver)) and time.monotonic() < until:
                self._interfere(client)
                time.sleep(0.2)  # between two looks at a fact of other processes
        if left:
            ids = [row[0] for row in audit.query(self._url, audit.LEFT)]
            self._found.faults.append(f"{left} rows did not end, the first of them {ids}")

    def _interfere(self, client: Client) -> None:
        """Now and then set a row back that has ended, and one going that waits."""
        if time.monotonic() < self._next_hand:
            return
        self._next_hand = time.monotonic() + self._plan.set_back_seconds
        self._set_one_back(client)
        self._set_going.extend(audit.set_one_going(client.driver) if self._plan.set_going else ())

    def _set_one_back(self, client: Client) -> None:
        """Retry a task from outside that sends nothing else when it runs again."""
        ends = [line for line in map(json.loads, last_lines(self._ledger)) if line[0] == "end"]
        rows = [line[3] for line in ends if line[2] in self._ordinary]
        if not rows:
            return
        row, before = self._chance.choice(rows), time.monotonic()
        client.job_retry(row)
        self._set_back.append(Kill(before, time.monotonic(), row=row))

    def _count(self, kills: list[Kill]) -> None:
        found = self._found
        found.child_kills = sum(kill.pid is not None for kill in kills)
        found.worker_kills = sum(kill.worker is not None for kill in kills)
        found.set_back, found.set_going = len(self._set_back), len(self._set_going)
        found.rows = int(audit.query(self._url, "SELECT count(*) FROM river_job")[0][0])

    def _check(self, kills: list[Kill], log: Path) -> None:
        faults = self._found.faults
        runs = read_runs(self._ledger.read_text("utf-8").splitlines())
        for shape, result in self._sent:
            wanted = forecast(shape)
            self._found.failed += isinstance(wanted.end, Failure)
            faults.extend(_wrong_end(result, wanted))
            faults.extend(self._wrong_runs(shape, wanted, runs, kills))
        faults.extend(f"nobody asked for {key}" for key in runs)
        by_hand = [kill.row for kill in self._set_back if kill.row is not None]
        faults.extend(audit.audited(self._url, [*by_hand, *self._set_going]))
        faults.extend(f"lost until the sweep: {text}" for text in SWEPT.findall(log.read_text("utf-8")))

    def _wrong_runs(
        self, shape: Shape, wanted: Forecast, runs: dict[str, list[Run]], kills: list[Kill]
    ) -> list[str]:
        """Return which bodies did not run, or ran more often than kills explain; takes them out of `runs`."""
        faults = []
        for key in sorted(wanted.runs):
            found = runs.pop(key, [])
            self._found.runs += len(found)
            self._found.reruns += max(0, len(found) - 1)
            if not found:
                faults.append(f"{key} did not run")
            elif len({(run.row, run.attempt) for run in found}) < len(found):
                faults.append(f"{key} ran twice in one attempt: {found}")
            for run, after in pairwise(found):
                if not any(kill.explains(run, after) for kill in kills):
                    faults.append(f"{key} ran again without a kill: {run}, {after}")
        return faults


def _ordinary_tags(shape: Shape) -> set[str]:
    if shape.parts:
        return set().union(*map(_ordinary_tags, shape.parts))
    plain = shape.kind == ORDINARY and not (shape.has_callback or shape.has_errback)
    return {shape.tag} if plain else set()


def _wrong_end(result: Any, wanted: Forecast) -> list[str]:
    """Return what is wrong with how a workflow ended."""
    state, value, end = result.state, result.result, wanted.end
    if not isinstance(end, Failure):
        right = (state, value) == ("SUCCESS", end.value)
    else:
        roots = set(BOOM.findall(repr(value)))
        right = state == "FAILURE" and type(value).__name__ == end.kind and bool(roots) and roots <= end.roots
    return [] if right else [f"{result.id} gave {state} {value!r}, not {end}"]
