"""The page of the protocol's checklist: fresh, whole, and made of tests that are collected."""

from __future__ import annotations

import pytest

from tests.checklist.collecting import Proof, UnreadableNameError, collect, named_in_sources, numbers_in
from tests.checklist.page import PAGE, by_number, problems, render
from tests.checklist.statements import NUMBERS, Statement, statements

BOTH = frozenset({"Postgres", "SQLite"})
ON_BOTH = Proof("tests/test_a.py::test_a", (1,), ("Postgres", "SQLite"), ("django",))
REFRESH = "run `python -m tests.checklist`"


@pytest.fixture(scope="module")
def proofs() -> list[Proof]:
    """Every collected test that names a number."""
    return collect()


def whole(**changes: object) -> dict[int, Statement]:
    """A checklist whose numbers all carry the same statement, with the first one changed as told."""
    made = {number: Statement(number, "so it is", BOTH) for number in NUMBERS}
    made[1] = Statement(**{"number": 1, "text": "so it is", "databases": BOTH, **changes})  # type: ignore[arg-type]
    return made


def about_the_first(known: dict[int, Statement], *given: Proof) -> list[str]:
    """The problems, without those of the other numbers."""
    return [line for line in problems(known, given) if line.startswith("1 ")]


def test_the_page_is_fresh(proofs: list[Proof]) -> None:
    """It is what the tests and statements give now."""
    assert PAGE.read_text("utf-8") == render(statements(), proofs), REFRESH


def test_every_number_is_shown(proofs: list[Proof]) -> None:
    """By a test on each database that it speaks of, or by a reason, of which there are few."""
    assert list(problems(statements(), proofs)) == []


def test_every_test_that_names_a_number_is_collected(proofs: list[Proof]) -> None:
    """A name in a class, a helper or a skipped test would count for nothing."""
    collected = {f"{proof.test.split('::')[0]}::{proof.test.split('::')[-1]}" for proof in proofs}
    assert named_in_sources() - collected == set()


def test_a_number_without_test_is_missing() -> None:
    """And so is one that runs on one database only, or that nobody knows."""
    assert about_the_first(whole(), ON_BOTH) == []
    assert about_the_first(whole()) == ["1 has neither a test nor a reason: so it is"]
    on_one = Proof(ON_BOTH.test, (1,), ("SQLite",), ())
    assert about_the_first(whole(), on_one) == ["1 is not shown on Postgres: so it is"]
    assert about_the_first(whole(databases=frozenset({"SQLite"})), on_one) == []
    unknown = list(problems(whole(), [Proof("tests/test_a.py::test_b", (168,), (), ())]))
    assert "168 is no number of the checklist, but tests/test_a.py::test_b names it" in unknown


def test_a_reason_stands_instead_of_a_test() -> None:
    """Not beside one, and not more than ten times."""
    assert about_the_first(whole(reason="only Go has it")) == []
    assert about_the_first(whole(reason="only Go has it"), ON_BOTH) == [
        "1 has a reason and a test: tests/test_a.py::test_a"
    ]
    everywhere = {number: Statement(number, "so it is", BOTH, "no time") for number in NUMBERS}
    assert len(list(problems(everywhere, []))) == 1


def test_the_row_of_a_number() -> None:
    """Its statement, where it runs, and its tests."""
    assert render({1: Statement(1, "a|b", BOTH)}, [ON_BOTH]).splitlines()[-1] == (
        "| 1 | a\\|b | Postgres, SQLite; django | `test_a.py::test_a` |"
    )


@pytest.mark.parametrize(
    ("docstring", "numbers"),
    [
        ("Nothing.", ()),
        ("Checklist 65. So it is.", (65,)),
        ("So it is. Checklist 65, 66. Checklist 7 and 8.", (7, 8, 65, 66)),
    ],
)
def test_numbers_are_read_from_docstrings(docstring: str, numbers: tuple[int, ...]) -> None:
    """In the one spelling."""
    assert numbers_in(docstring) == numbers
    assert set(by_number([Proof("a", numbers, (), ())])) == set(numbers)


@pytest.mark.parametrize(
    "docstring", ["Checklist 65", "checklist 65.", "Checklist 65; 66.", "Checklist 6-8."]
)
def test_another_spelling_is_refused(docstring: str) -> None:
    """It would be passed over."""
    with pytest.raises(UnreadableNameError):
        numbers_in(docstring)
