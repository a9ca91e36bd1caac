"""The short form of the peer check: which of Celery's tests it asks for, and what it makes of outcomes."""

from __future__ import annotations

from tests.peer.celery_short import PARTS, Part, known_reasons, passed_by_celery, unexplained

CHAIN = "t/integration/test_canvas.py::test_chain::test_simple_chain"


def test_a_test_that_fails_needs_a_reason() -> None:
    """So does one that did not run, as when its module could not be imported."""
    results = {"m.py::a": "passed", "m.py::b": "failed", "m.py::c": "skipped"}
    wanted = ["m.py::a", "m.py::b", "m.py::c", "m.py::d"]
    assert unexplained(wanted, results, ["::b", "::d"]) == {"m.py::c": "skipped"}
    assert unexplained(wanted, results, ["::b", "::c"]) == {"m.py::d": "did not run"}


def test_every_part_asks_for_tests_that_celery_passes() -> None:
    """The unit suite whole, and of the integration suite a part that cannot be empty."""
    tests = passed_by_celery()
    counts = [sum(part.holds(test) for test in tests) for part in PARTS]
    assert counts[0] == sum(test.startswith("t/unit/") for test in tests) == 1850
    assert min(counts) > 40


def test_words_choose_as_the_option_k_does() -> None:
    """A word may stand anywhere in the name of a class or a function."""
    assert Part("integration", "t/integration/test_canvas.py", ("test_chain",)).holds(CHAIN)
    assert Part("integration", "t/integration/test_canvas.py", ("simple",)).holds(CHAIN)
    assert not Part("integration", "t/integration/test_tasks.py", ("simple",)).holds(CHAIN)
    assert not Part("unit").holds(CHAIN)


def test_each_reason_is_one_for_some_test_of_celerys() -> None:
    """A reason whose test is gone, or was renamed, would excuse nothing."""
    tests = passed_by_celery()
    assert [each for each in known_reasons() if not any(each in test for test in tests)] == []
