"""Rows of which only the ids are read back are stored as others are."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from river_core import Client, InsertParams, JobRow, JobState, Plugin
from river_core.drivers.base import Driver
from river_core.errors import ValidationError

ROW = InsertParams("some_kind", '{"n":1}', queue="q", priority=2, max_attempts=7, encoded_metadata='{"m":1}')
LATER = datetime(2100, 1, 2, 3, 4, 5, tzinfo=UTC)


def described(row: JobRow) -> tuple[object, ...]:
    """Return what the inserter decides about a row, and the order of its times."""
    facts = (row.args, row.kind, row.queue, row.priority, row.max_attempts, row.state, row.metadata, row.tags)
    return *facts, row.attempt, row.created_at == row.scheduled_at, row.scheduled_at == LATER


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"scheduled_at": LATER, "state": JobState.SCHEDULED},
        {"tags": ("one", "two")},
        {"encoded_metadata": "{}"},
        {"unique_key": b"key-of-a-row", "unique_states": 255},
        {"created_at": LATER},
    ],
)
@pytest.mark.parametrize("count", [1, 3])
def test_rows_are_those_of_an_ordinary_insert(driver: Driver, change: dict[str, object], count: int) -> None:
    """Whatever they have in common, and in which order."""
    client = Client(driver)
    key = change.get("unique_key")
    rows = [
        replace(
            ROW,
            **{**change, **({"unique_key": key + bytes([n])} if isinstance(key, bytes) else {})},  # type: ignore[arg-type]
            encoded_args=f'{{"n":{n}}}',
        )
        for n in range(count)
    ]
    ordinary = [described(result.job) for result in client.insert_params(rows)]
    for job in client.job_list(limit=100).jobs:
        client.job_delete(job.id)
    ids = client.insert_for_ids(rows)
    assert [described(client.job_get(row_id)) for row_id in ids] == ordinary
    assert ids == sorted(set(ids))


def test_rows_that_differ_are_stored_as_they_are(driver: Driver) -> None:
    """Nothing of the first row is given to the others."""
    client = Client(driver)
    ids = client.insert_for_ids([ROW, replace(ROW, queue="other"), replace(ROW, priority=4)])
    jobs = [client.job_get(row_id) for row_id in ids]
    assert [(job.queue, job.priority) for job in jobs] == [("q", 2), ("other", 2), ("q", 4)]


def test_each_row_is_checked(driver: Driver) -> None:
    """One that is unfit refuses all, wherever it is."""
    client = Client(driver)
    with pytest.raises(ValidationError):
        client.insert_for_ids([ROW, ROW, replace(ROW, priority=9)])
    assert client.job_list(limit=1).jobs == []


class Watching(Plugin):
    """Keeps what it is shown."""

    def __init__(self) -> None:
        """Nothing was seen yet."""
        self.seen: list[JobRow] = []

    def insert_end(self, result: object) -> None:
        """Keep the stored row."""
        self.seen.append(result.job)  # type: ignore[attr-defined]


def test_plugins_see_rows_as_they_are_stored(driver: Driver) -> None:
    """Where somebody looks, all of the row is read back."""
    watching = Watching()
    client = Client(driver, plugins=[watching])
    ids = client.insert_for_ids([ROW, ROW])
    assert watching.seen == [client.job_get(row_id) for row_id in ids]
