"""Workflows survive what kills their workers: every one ends, once, with the right value."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from river_core import open_driver
from tests.acceptance.workflows.running import examine
from tests.databases import migrate


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("count", "kills"),
    [(100, 4), pytest.param(10_000, 500, marks=[pytest.mark.long, pytest.mark.timeout(7200)])],
)
def test_random_workflows_under_random_kills(
    database_url: str, tmp_path: Path, count: int, kills: int
) -> None:
    """Rows 8.5, 8.7. Nested up to four deep, while workers are killed by SIGKILL.

    A body runs twice only in another attempt of its row; nothing is lost, nothing doubled.
    """
    with closing(open_driver(database_url)) as driver:
        migrate(driver)
    found = examine(database_url, tmp_path, count, seed=count, kills=kills)
    assert found.faults == []
    assert found.kills == kills
