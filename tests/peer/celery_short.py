"""Celery's own tests in the form that CI runs: the unit suite whole, of the integration suite a part.

    .venv/bin/python -m tests.peer.celery_short

Fetches Celery's source archive once, into a folder that git ignores, and runs the harness beside this file
on it (`tests/peer/celery/run.py`) with a Redis and a Postgres database of its own. The exit status is 1 when
a test that Celery itself passes did not pass here, or did not run, and neither `reasons.toml` nor the
harness's profile has a reason for it; and when the installed Celery was used instead of its replacement.

Some of Celery's integration tests race with their own worker, which shows on a machine that is busy. One that
fails without a reason runs once more, alone, and it is said that it had to.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import redis

from river_compat.dev_database import find_postgres
from river_core.drivers.psycopg import PsycopgDriver
from tests.databases import migrate, session_database
from tests.peer.celery.profiles.river_compat import Profile
from tests.redis_server import own_redis

VERSION = "5.7.0"
HARNESS = Path(__file__).parent / "celery"
CACHE = HARNESS / ".source"
MODULE_TIMEOUT = 300  # seconds; the slowest takes one minute
LEAK = "LEAK:"


@dataclass(frozen=True, slots=True)
class Part:
    """Some of Celery's tests: a suite, or one module, or those of its tests with these words in a name."""

    suite: str
    module: str = ""
    words: tuple[str, ...] = ()

    @property
    def arguments(self) -> list[str]:
        """What the harness is told."""
        chosen = ["--modules", self.module] if self.module else []
        return ["--suite", self.suite, *chosen, *(["-k", " or ".join(self.words)] if self.words else [])]

    def holds(self, test: str) -> bool:
        """Say whether the test is one that must have run."""
        module, *names = test.split("::")
        if f"/{self.suite}/" not in module or self.module not in {"", module}:
            return False
        return not self.words or any(word in name for word in self.words for name in names)


PARTS = (
    Part("unit"),
    Part("integration", "t/integration/test_tasks.py"),
    Part("integration", "t/integration/test_canvas.py", ("test_link_error", "test_chain")),
)


def known_reasons() -> list[str]:
    """Return the parts of names for which a reason is given why these tests do not pass."""
    table = tomllib.loads((HARNESS / "reasons.toml").read_text("utf-8"))["reasons"]
    return [*Profile.exclude, *table]


def unexplained(wanted: Iterable[str], results: Mapping[str, str], reasons: Iterable[str]) -> dict[str, str]:
    """Return the outcome of each wanted test that did not pass, or did not run, without a reason."""
    known = tuple(reasons)
    outcomes = {test: results.get(test, "did not run") for test in wanted}
    return {
        test: outcome
        for test, outcome in outcomes.items()
        if outcome != "passed" and not any(fragment in test for fragment in known)
    }


def passed_by_celery() -> list[str]:
    """Return the names of all tests that Celery itself passes."""
    baseline = json.loads((HARNESS / f"baseline-{VERSION}.json").read_text("utf-8"))["results"]
    return [test for test, outcome in baseline.items() if outcome == "passed"]


def source() -> Path:
    """Return Celery's unpacked source archive, which is downloaded the first time."""
    unpacked = CACHE / f"celery-{VERSION}"
    if not unpacked.exists():
        with tempfile.TemporaryDirectory() as directory:
            _download(Path(directory))
            with tarfile.open(Path(directory) / f"celery-{VERSION}.tar.gz") as archive:
                archive.extractall(CACHE, filter="data")
    return unpacked


def _download(directory: Path) -> None:
    what = [f"celery=={VERSION}", "--no-deps", "--no-binary", "celery"]
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", *what, "-d", directory], check=True)


@contextmanager
def _servers(postgres: str) -> Iterator[dict[str, str]]:
    """Give the variables that name a migrated database and a Redis, both of one run's own, to the harness."""
    with session_database(postgres) as database, own_redis() as scratch:
        with closing(PsycopgDriver(database.url)) as driver:
            migrate(driver)
        address = redis.connection.parse_url(scratch)
        yield {
            "PEER_DATABASE_URL": database.url,
            "REDIS_HOST": str(address["host"]),
            "REDIS_PORT": str(address["port"]),
        }


def _run(part: Part, variables: Mapping[str, str], report: Path) -> tuple[dict[str, str], list[str]]:
    """Run the harness, show what it says, and return the results and the lines about a real Celery."""
    command = [sys.executable, HARNESS / "run.py", "--tests", source(), "--json", report, *part.arguments]
    command += ["--jobs", "2", "--module-timeout", str(MODULE_TIMEOUT), "-v"]
    leaks, started = [], time.monotonic()
    with subprocess.Popen(command, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True) as run:
        for line in run.stdout or ():
            sys.stdout.write(line)
            sys.stdout.flush()
            leaks += [line] if line.startswith(LEAK) else []
    sys.stdout.write(f"{part.module or part.suite}: {time.monotonic() - started:.0f} s\n")
    return json.loads(report.read_text("utf-8"))["results"], leaks


def _run_again(bad: Iterable[str], run: Callable[[Part], dict[str, str]]) -> dict[str, str]:
    """Run integration tests once more, each by itself; return their outcomes."""
    results: dict[str, str] = {}
    for test in bad:
        module, *names = test.split("::")
        part = next((each for each in PARTS if each.module == module), None)
        if part is not None and test not in results:
            sys.stdout.write(f"once more: {test}\n")
            results |= run(replace(part, words=(names[-1].partition("[")[0],)))
    return results


def main() -> int:
    """Run every part; return the exit status."""
    leaks: list[str] = []
    wanted = [test for test in passed_by_celery() if any(part.holds(test) for part in PARTS)]
    reasons = known_reasons()
    source()
    with find_postgres() as server, ThreadPoolExecutor() as pool, tempfile.TemporaryDirectory() as directory:

        def run(part: Part) -> dict[str, str]:
            with _servers(server.url) as variables:
                found, leaked = _run(part, variables, Path(directory) / f"{threading.get_ident()}.json")
            leaks.extend(leaked)
            return found

        unit, *integration = PARTS
        results = run(unit)
        for found in pool.map(run, integration):  # side by side: they wait more than they work
            results |= found
        results |= _run_again(unexplained(wanted, results, reasons), run)
    bad = unexplained(wanted, results, reasons)
    for test, outcome in bad.items():
        sys.stdout.write(f"no reason is given for {test}: {outcome}\n")
    good = sum(results.get(test) == "passed" for test in wanted)
    sys.stdout.write(f"{good} of {len(wanted)} that Celery passes pass here; without a reason: {len(bad)}\n")
    return 1 if bad or leaks else 0


if __name__ == "__main__":
    sys.exit(main())
