"""The table of rows and cases."""

from __future__ import annotations

from tests.parity import table
from tests.parity.table import Proof, Row


def test_docstrings_name_rows_that_exist() -> None:
    """Each number that a case or a test names is one of the surface."""
    known, found = table.rows(), list(table.proofs())
    assert any(proof.is_case for proof in found)
    assert table.problems(known, found) == []


def test_numbers_are_read_from_prose() -> None:
    """One, several, and none."""
    assert table.named("It works. Rows 5.1, 5.2 and 16.10.") == ("5.1", "5.2", "16.10")
    assert table.named("Row 8.5.") == ("8.5",)
    assert table.named("In row 8 of 9.5 there is nothing.") == ()


def test_rows_without_a_case_are_listed() -> None:
    """Those of use H and M, with a word on those that no test names either."""
    known = [Row("1.1", "H", "a"), Row("1.2", "M", "b"), Row("1.3", "L", "c"), Row("1.4", "H", "d")]
    found = [
        Proof(f"{table.CASES}one.py", "", ("1.1",)),
        Proof("tests/unit/test_two.py", "::test_b", ("1.2", "9.9")),
    ]
    page = table.render(known, found)
    assert "| 1.1 | H | a | `one` |  |" in page
    missing = page.partition("without a case")[2]
    assert missing.split() == [
        "-",
        "1.2",
        "(M)",
        "b",
        "-",
        "1.4",
        "(H)",
        "d",
        "-",
        "**no",
        "test",
        "names",
        "it**",
    ]
    assert table.problems(known, found) == [
        "tests/unit/test_two.py::test_b names the row 9.9, which does not exist"
    ]


def test_what_differs_is_listed_with_its_reason() -> None:
    """A decision stands in place of a case, or beside one, and the page says which."""
    known = [Row("1.1", "H", "a", "not so"), Row("1.2", "M", "b", "nor so")]
    page = table.render(known, [Proof(f"{table.CASES}one.py", "", ("1.1",))])
    differing = page.partition("## What differs by decision")[2]
    assert differing.split("\n") == ["", "", "- 1.1 (H) a: not so", "- 1.2 (M) b: nor so - **no case**", ""]
