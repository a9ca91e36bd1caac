"""The demo, as a reader runs it: from an empty directory to rows that are right by plain SQL."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from river_compat.demo.rows import CALLS, EXPECTED, DemoRow, problems
from tests.acceptance.commands import Ran, query, run

ROWS = """
SELECT
    json_extract(json(args), '$.task.name'), state, attempt,
    json_extract(json(metadata), '$.python_task_outcome')
FROM river_job
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ran]:
    """A demo that has run in an empty directory, with settings around that it must not follow."""
    folder = tmp_path_factory.mktemp("reader")
    foreign = {"DATABASE_URL": "postgresql://127.0.0.1:1/x", "CELERY_BROKER_URL": "redis://127.0.0.1:1"}
    return folder, run("demo", cwd=folder, env=foreign)


def test_it_succeeds_and_says_where_to_look_next(finished: tuple[Path, Ran]) -> None:
    """Code 0, every step in plain text, the commands that lead on."""
    _, ran = finished
    assert ran.code == 0, ran.stdout + ran.stderr
    for part in ("Create River's tables", "Enqueue", "Work", "Stop", "rows.sql", "-A shop worker", "\n"):
        assert part in ran.stdout
    assert f"{CALLS} of {CALLS} ended" in ran.stdout
    assert "\x1b" not in ran.stdout


def test_its_rows_are_right_by_plain_sql(finished: tuple[Path, Ran]) -> None:
    """Quick, retried, delayed, failed and rolled back: each as it should be."""
    folder, _ = finished
    url = f"sqlite:///{folder}/.river-demo/river.sqlite3"
    assert Counter(query(url, ROWS)) == EXPECTED
    assert query(url, "SELECT customer FROM orders") == [("eve",)]
    mails = query(url, "SELECT json_extract(json(args), '$.task.args_repr') FROM river_job")
    assert not [text for (text,) in mails if "mal" in text]


def test_the_file_alone_holds_the_rows(finished: tuple[Path, Ran], tmp_path: Path) -> None:
    """Nothing is left in a write-ahead log beside it, so the one file may be copied or sent."""
    folder, _ = finished
    copy = shutil.copy(folder / ".river-demo/river.sqlite3", tmp_path)
    assert Counter(query(f"sqlite:///{copy}", ROWS)) == EXPECTED


def test_it_can_be_run_again(finished: tuple[Path, Ran]) -> None:
    """A second run starts from an empty database."""
    folder, _ = finished
    ran = run("demo", cwd=folder)
    assert ran.code == 0, ran.stdout + ran.stderr
    assert (
        sum(EXPECTED.values())
        == query(f"sqlite:///{folder}/.river-demo/river.sqlite3", "SELECT count(*) FROM river_job")[0][0]
    )


def test_it_notices_what_is_wrong() -> None:
    """The demo's own check fails for a missing, a doubled and a wrong row, and for a second order."""
    right = [DemoRow(number, *row) for number, row in enumerate(EXPECTED.elements(), start=1)]
    assert problems(right, 1) == []
    assert problems(right[1:], 1)
    assert problems([*right, right[0]], 1)
    assert problems([*right[:-1], DemoRow(99, "shop.charge", "running", 1, "")], 1)
    assert problems(right, 2)


def test_the_example_is_the_demo() -> None:
    """There is one source: the example directory links to what the package ships."""
    root = Path(__file__).parents[2]
    for name in ("shop.py", "rows.sql"):
        example = root / "examples/celery_quickstart" / name
        assert example.resolve() == root / "river_compat/demo" / name
