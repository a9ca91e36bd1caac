"""Standing rows on each database: kept by a key, for a time, and changed by one at a time."""

from __future__ import annotations

import threading

import pytest

from river_core.drivers.base import Driver
from river_core.errors import ValidationError
from river_core.standing import StandingRows
from tests.runtime.stored import read


@pytest.fixture
def rows(driver: Driver) -> StandingRows:
    """The standing rows of an empty database."""
    return StandingRows(driver)


def test_the_last_value_of_a_key_is_kept(rows: StandingRows, driver: Driver) -> None:
    """One row for each key, which no client fetches: it is pending, of the reserved kind."""
    first = rows.put("rate:add", "one")
    assert rows.put("rate:add", "two") == first
    found = rows.get("rate:add")
    assert found is not None
    assert (found.id, found.key, found.value) == (first, "rate:add", "two")
    row = read(driver, first)
    assert (row.kind, row.state, row.args) == ("python_state", "pending", {"key": "rate:add"})


def test_keys_are_found_by_their_beginning(rows: StandingRows) -> None:
    """In order of their ids; no character is a wildcard."""
    for key in ("a%:2", "a%:1", "ab:1", 'a%:"\\ä'):
        rows.put(key, key.upper())
    assert [(row.key, row.value) for row in rows.find("a%:")] == [
        ("a%:2", "A%:2"),
        ("a%:1", "A%:1"),
        ('a%:"\\ä', 'A%:"\\Ä'),
    ]
    assert {row.key for row in rows.get_many(["ab:1", 'a%:"\\ä', "none"])} == {"ab:1", 'a%:"\\ä'}


def test_a_row_whose_time_is_over_counts_for_nothing(rows: StandingRows) -> None:
    """It is neither read nor found, is deleted by the next clean-up, and may be written again."""
    rows.put("old", "x", seconds=-1)
    rows.put("new", "y", seconds=3600)
    rows.put("always", "z")
    assert rows.get("old") is None
    assert [row.key for row in rows.find("")] == ["new", "always"]
    assert rows.delete_expired() == 1
    assert rows.delete_expired() == 0
    rows.put("old", "again", seconds=3600)
    assert [row.value for row in rows.get_many(["old"])] == ["again"]


def test_rows_are_deleted_by_their_ids(rows: StandingRows) -> None:
    """What is gone already is not counted."""
    ids = [rows.put(key, "") for key in ("a", "b")]
    assert rows.delete([*ids, 1_000_000]) == 2
    assert rows.find("") == []


def test_changes_come_one_after_the_other(rows: StandingRows) -> None:
    """Threads that count together lose no count, the first of all included."""

    def count() -> None:
        for _ in range(10):
            rows.change("count", lambda value, _now: str(int(value or 0) + 1))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = rows.get("count")
    assert found is not None
    assert found.value == "40"


def test_a_change_is_told_the_time_of_the_database(rows: StandingRows) -> None:
    """Seconds since the epoch that do not go back."""
    times: list[float] = []
    for _ in range(3):
        rows.change("clock", lambda value, now: times.append(now) or value or "x")
    assert times == sorted(times)
    assert times[0] > 1_700_000_000


@pytest.mark.parametrize("key", ["", "x" * 1_001, "a\0b"])
def test_a_key_that_cannot_be_stored_is_refused(rows: StandingRows, key: str) -> None:
    """Before anything is written."""
    with pytest.raises(ValidationError, match="key of a standing row"):
        rows.put(key, "")
    with pytest.raises(ValidationError, match="key of a standing row"):
        rows.change(key, lambda _value, _now: "")
    assert rows.find("") == []
