"""The page of the checklist, and what keeps it from being whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tests.checklist.collecting import ROOT, Proof
from tests.checklist.statements import MAX_REASONS, NUMBERS, Statement

PAGE = ROOT / "docs/reference/conformance.md"
_HEAD = """\
# Conformance

River's clients share one protocol. Its checklist has {count} statements; each is held here by tests, or
carries the reason why not. A test names its numbers in its docstring (`Checklist 65.`). This page is made
from the tests by `python -m tests.checklist`, and a test fails when it is stale.

Shown by tests: {shown}. With a reason instead: {reasons}.

| | statement | runs on | tests |
|---:|---|---|---|
"""


def by_number(proofs: Iterable[Proof]) -> dict[int, list[Proof]]:
    """Return the proofs of each number that is named."""
    found: dict[int, list[Proof]] = {}
    for proof in proofs:
        for number in proof.numbers:
            found.setdefault(number, []).append(proof)
    return found


def render(statements: Mapping[int, Statement], proofs: Iterable[Proof]) -> str:
    """Return the page's Markdown."""
    found = by_number(proofs)
    head = _HEAD.format(
        count=len(statements),
        shown=sum(number in found for number in statements),
        reasons=sum(item.reason is not None for item in statements.values()),
    )
    return head + "".join(_row(item, found.get(item.number, [])) for item in statements.values())


def _row(statement: Statement, proofs: list[Proof]) -> str:
    tests = "<br>".join(f"`{proof.test.removeprefix('tests/')}`" for proof in proofs)
    cells = (str(statement.number), _cell(statement.text), _runs_on(proofs), tests or statement.reason or "")
    return f"| {' | '.join(cells)} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _runs_on(proofs: list[Proof]) -> str:
    databases = sorted({name for proof in proofs for name in proof.databases})
    libraries = sorted({name for proof in proofs for name in proof.libraries})
    named = ", ".join(databases) or ("no database" if proofs else "")
    return f"{named}; {', '.join(libraries)}" if libraries else named


def problems(statements: Mapping[int, Statement], proofs: Iterable[Proof]) -> Iterator[str]:
    """Say what is missing: statements, tests, databases, or too many reasons."""
    found = by_number(proofs)
    yield from (f"{number} has no statement" for number in NUMBERS if number not in statements)
    yield from (
        f"{number} is no number of the checklist, but {found[number][0].test} names it"
        for number in found
        if number not in statements
    )
    reasons = [item.number for item in statements.values() if item.reason is not None]
    if len(reasons) > MAX_REASONS:
        yield f"{len(reasons)} numbers have reasons instead of tests, more than {MAX_REASONS}: {reasons}"
    for statement in statements.values():
        yield from _problems_of(statement, found.get(statement.number, []))


def _problems_of(statement: Statement, proofs: list[Proof]) -> Iterator[str]:
    if statement.reason is not None:
        if proofs:
            yield f"{statement.number} has a reason and a test: {proofs[0].test}"
    elif not proofs:
        yield f"{statement.number} has neither a test nor a reason: {statement.text}"
    else:
        missing = statement.databases - {name for proof in proofs for name in proof.databases}
        if missing:
            yield f"{statement.number} is not shown on {', '.join(sorted(missing))}: {statement.text}"
