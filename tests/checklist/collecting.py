"""Which collected tests name which numbers of the checklist, and on what they run."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
_NAMED = re.compile(r"\bChecklist (\d+(?:(?:, | and )\d+)*)\.")
_ANY_NAME = re.compile(r"\bchecklist\s+\d", re.IGNORECASE)
_POSTGRES = {"on_postgres", "postgres_url", "postgres_driver", "postgres_server", "postgres_database"}
_SQLITE = {"on_sqlite", "sqlite_path", "sqlite_driver"}
_DATABASES = {"postgres": "Postgres", "sqlite": "SQLite"}
_LIBRARIES = ("application", "bind")


class CollectionError(Exception):
    """Not every test could be collected; the text is what pytest says about it."""


class UnreadableNameError(Exception):
    """A docstring names the checklist in a way that is not read."""


@dataclass(frozen=True, slots=True)
class Proof:
    """One test function: the numbers that it names, the databases it runs on, the libraries it uses."""

    test: str
    numbers: tuple[int, ...]
    databases: tuple[str, ...]
    libraries: tuple[str, ...]


def numbers_in(docstring: str) -> tuple[int, ...]:
    """Return the numbers that a docstring names as `Checklist 65.`, `Checklist 65, 66.` or `65 and 66.`."""
    named = _NAMED.findall(docstring)
    if len(_ANY_NAME.findall(docstring)) != len(named):
        raise UnreadableNameError(f"write `Checklist 65.` or `Checklist 65, 66.`, not {docstring!r}")
    return tuple(sorted({int(number) for group in named for number in re.findall(r"\d+", group)}))


def proofs_of(items: Iterable[pytest.Item]) -> list[Proof]:
    """Return one proof for each test function that names a number and is not skipped."""
    found: dict[str, tuple[set[str], set[str], tuple[int, ...]]] = {}
    for item in items:
        numbers = numbers_in(getattr(getattr(item, "obj", None), "__doc__", None) or "")
        if not numbers or item.get_closest_marker("skip"):
            continue
        name = item.nodeid.partition("[")[0]
        databases, libraries, _ = found.setdefault(name, (set(), set(), numbers))
        databases |= _databases(item)
        libraries |= _libraries(item)
    return [
        Proof(name, numbers, tuple(sorted(databases)), tuple(sorted(libraries)))
        for name, (databases, libraries, numbers) in sorted(found.items())
    ]


def named_in_sources() -> set[str]:
    """Return each function or class of a test file whose docstring names a number, collected or not."""
    return {
        f"{path.relative_to(ROOT).as_posix()}::{node.name}"
        for path in (ROOT / "tests").glob("**/test_*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and numbers_in(ast.get_docstring(node) or "")
    }


def _parameters(item: pytest.Item) -> dict[str, Any]:
    callspec = getattr(item, "callspec", None)
    return callspec.params if callspec is not None else {}


def _databases(item: pytest.Item) -> set[str]:
    parameters = _parameters(item)
    given = parameters.get("database_url", parameters.get("scene"))
    if given in _DATABASES:
        return {_DATABASES[given]}
    fixtures = set(getattr(item, "fixturenames", ()))
    on_postgres = fixtures & _POSTGRES or item.get_closest_marker("postgres")
    return {"Postgres"} if on_postgres else {"SQLite"} if fixtures & _SQLITE else set()


def _libraries(item: pytest.Item) -> set[str]:
    given = _parameters(item)
    return {given[name] for name in _LIBRARIES if isinstance(given.get(name), str) and given[name]}


class _Collector:
    """A pytest plugin that keeps what was collected."""

    def __init__(self) -> None:
        self.proofs: list[Proof] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Say what could not be collected."""
        if report.failed:
            sys.stderr.write(f"{report.nodeid}: {report.longreprtext}\n")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Read the docstrings."""
        self.proofs = proofs_of(session.items)


def main() -> int:
    """Collect every test and print the proofs as JSON, one a line."""
    collector = _Collector()
    status = pytest.main(["--collect-only", "-qqq", str(ROOT / "tests")], plugins=[collector])
    for proof in collector.proofs:
        sys.stdout.write(json.dumps(asdict(proof)) + "\n")
    return int(status)


def collect() -> list[Proof]:
    """Collect in a process of its own, so that a running session is not disturbed."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.checklist.collecting"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CollectionError(done.stderr or done.stdout)
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"test"')]
    return [_decode(json.loads(line)) for line in lines]


def _decode(values: dict[str, Any]) -> Proof:
    return Proof(
        **{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    )


if __name__ == "__main__":
    sys.exit(main())
