"""The page that says which cases and tests stand for which row of Celery's surface.

`python -m tests.parity table` writes it. A case or test names its rows in its docstring: `Row 8.5.`, `Rows
5.1, 5.2.`; a docstring of a module speaks for all of it.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/celery-parity.md"
CASES = "tests/parity/program/cases/"
_NAMED = re.compile(r"\bRows?\s+(\d+\.\d+(?:(?:,\s*|\s+and\s+)\d+\.\d+)*)")
_HEAD = """\
# Parity with Celery, row by row

What real Celery applications touch, numbered, and what shows that it is the same here. A *case* is one
script that real Celery on Redis and `river_compat.celery` on Postgres and on SQLite run with equal results.
Other tests run on ours alone: crashes, transactions and databases, where Celery has nothing to compare with,
and what the design decided to do otherwise. Celery's own tests are [a page of their own](celery-tests.md).
This page is made by `python -m tests.parity table`.

Use: H many applications, M some, L few. {cases} of {count} rows have a case, {shown} a case or a test; of
the {often} rows of use H or M it is {often_cases} and {often_shown}.

| row | use | what | cases | other tests |
|---:|---|---|---|---|
"""
_DIFFERING = """
## What differs by decision

{rows}
"""
_MISSING = """
## Rows of use H and M without a case

{rows}
"""


@dataclass(frozen=True)
class Row:
    """One row of the surface; `differs` says what a decision made otherwise than in Celery."""

    number: str
    use: str
    feature: str
    differs: str = ""


@dataclass(frozen=True)
class Proof:
    """A file that names rows, and the test in it, if it is not the whole file."""

    path: str
    test: str
    numbers: tuple[str, ...]

    @property
    def is_case(self) -> bool:
        """Whether real Celery runs it, too."""
        return self.path.startswith(CASES)

    @property
    def name(self) -> str:
        """What the page shows."""
        path = self.path.removeprefix(CASES if self.is_case else "tests/")
        return path.removesuffix(".py") if self.is_case else f"{path}{self.test}"


def rows() -> list[Row]:
    """Return the rows of the surface in order."""
    with (Path(__file__).parent / "rows.toml").open("rb") as file:
        return [Row(**entry) for entry in tomllib.load(file)["row"]]


def proofs(folder: Path = ROOT / "tests") -> Iterator[Proof]:
    """Find every docstring below a folder that names rows."""
    for path in sorted(folder.rglob("*.py")):
        if "peer" in path.parts:
            continue
        module = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(module):
            if not isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            numbers = named(ast.get_docstring(node) or "")
            if numbers:
                test = "" if isinstance(node, ast.Module) else f"::{node.name}"
                yield Proof(path.relative_to(ROOT).as_posix(), test, numbers)


def named(docstring: str) -> tuple[str, ...]:
    """Return the numbers of the rows that a docstring names."""
    return tuple(
        number for found in _NAMED.finditer(docstring) for number in re.findall(r"\d+\.\d+", found[1])
    )


def problems(known: Iterable[Row], found: Iterable[Proof]) -> list[str]:
    """Say which docstrings name rows that do not exist."""
    numbers = {row.number for row in known}
    return [
        f"{proof.path}{proof.test} names the row {number}, which does not exist"
        for proof in found
        for number in proof.numbers
        if number not in numbers
    ]


def render(known: list[Row], found: list[Proof]) -> str:
    """Return the page's Markdown."""
    cases, others = _by_number(found, True), _by_number(found, False)
    often = [row for row in known if row.use in ("H", "M")]
    shown = {*cases, *others}
    head = _HEAD.format(
        cases=sum(row.number in cases for row in known),
        count=len(known),
        shown=sum(row.number in shown for row in known),
        often=len(often),
        often_cases=sum(row.number in cases for row in often),
        often_shown=sum(row.number in shown for row in often),
    )
    lines = "".join(_line(row, cases, others) for row in known)
    missing = [row for row in often if row.number not in cases and not row.differs]
    differing = [
        f"{_named(row)}: {row.differs}" + ("" if row.number in cases else " - **no case**")
        for row in known
        if row.differs
    ]
    without = [_named(row) + ("" if row.number in others else " - **no test names it**") for row in missing]
    return head + lines + _listed(_DIFFERING, differing) + _listed(_MISSING, without)


def _named(row: Row) -> str:
    return f"- {row.number} ({row.use}) {_cell(row.feature)}"


def _listed(section: str, items: list[str]) -> str:
    return section.format(rows="\n".join(items)) if items else ""


def _by_number(found: Iterable[Proof], is_case: bool) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for proof in found:
        if proof.is_case == is_case:
            for number in proof.numbers:
                names.setdefault(number, []).append(proof.name)
    return names


def _line(row: Row, cases: Mapping[str, list[str]], others: Mapping[str, list[str]]) -> str:
    shown = ("<br>".join(f"`{name}`" for name in names.get(row.number, ())) for names in (cases, others))
    return f"| {row.number} | {row.use} | {_cell(row.feature)} | {' | '.join(shown)} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
