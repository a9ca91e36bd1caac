"""The loop of a service: what it logs and how long it waits after failures."""

from __future__ import annotations

import logging

import pytest

from river_core.errors import OperationalError
from river_core.service import Service


class Failing(Service):
    """Raises what it is told to, or succeeds for None."""

    def __init__(self, *results: Exception | None) -> None:
        super().__init__("failing")
        self.results = list(results)

    def run_once(self) -> float:
        """Take the next result."""
        result = self.results.pop(0)
        if result is not None:
            raise result
        return 7.0


def test_pauses_double_up_to_ten_seconds_and_begin_anew_after_a_success() -> None:
    """A database that is away is not asked every second by every service."""
    away = OperationalError("away")
    service = Failing(*[away] * 6, None, away)
    assert [service.turn() for _ in range(8)] == [1, 2, 4, 8, 10, 10, 7, 1]


def test_an_outage_is_one_line_and_a_bug_has_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody reads what matters between hundreds of lines of tracebacks."""
    service = Failing(OperationalError("the server is away\nand more"), ZeroDivisionError("a bug"))
    with caplog.at_level(logging.WARNING):
        service.turn()
        service.turn()
    outage, bug = caplog.records
    assert (outage.levelname, outage.exc_info) == ("WARNING", None)
    assert "the server is away; next try in 1.0 s" in outage.getMessage()
    assert bug.exc_info is not None
