"""`job_list` on both databases: filters, orders, pages and cursors."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

import pytest

from river_core.client import Client
from river_core.drivers.base import Driver
from river_core.errors import JobRowDecodeError
from river_core.job import FINAL_STATES, JobState
from river_core.job_list import JobListParams
from tests.runtime.stored import NOW, put, run

pytestmark = pytest.mark.usefixtures("either_client")

STATES = ("available", "completed", "running", "discarded", "scheduled", "cancelled", "retryable", "pending")
ORDERS: list[dict[str, Any]] = [
    {"order_by": "id"},
    {"order_by": "id", "states": ["completed", "running"]},
    {"order_by": "scheduled_at"},
    {"order_by": "time"},
    {"order_by": "time", "states": ["available", "completed"]},
    {"order_by": "time", "states": ["running", "available", "completed"]},
    {"order_by": "time", "states": ["discarded", "pending", "retryable", "cancelled"]},
    {"order_by": "finalized_at"},
]


def minutes(number: int) -> datetime:
    """Return a time with a fraction that both databases keep."""
    return NOW + timedelta(minutes=number, milliseconds=120)


def put_jobs(driver: Driver) -> None:
    """Put 24 jobs in all states, of whose times many are equal and some are missing."""
    for number in range(24):
        state = STATES[number % 8]
        put(
            driver,
            state=state,
            kind=f"kind_{number % 3}",
            queue="ab"[number % 2],
            scheduled_at=minutes(number * 7 % 4),
            attempted_at=minutes(number * 5 % 3) if number % 4 != 1 else None,
            finalized_at=minutes(number // 8) if state in FINAL_STATES else None,
        )


def expected_ids(driver: Driver, params: JobListParams) -> list[int]:
    """Sort all rows as the protocol says, by hand: no time last ascending, first descending."""
    client = Client(driver)
    rows = [client.job_get(job_id) for job_id in range(1, 25)]
    chosen = [row for row in rows if not params.states or row.state in list(params.states)]
    column = params.sort_column

    def key(row: Any) -> tuple[bool, datetime, int]:
        time = getattr(row, column) if column else NOW
        return time is None, time or NOW, row.id

    return [row.id for row in sorted(chosen, key=key, reverse=params.direction == "desc")]


def pages(client: Client, limit: int, fields: dict[str, Any], *, delete: bool) -> Iterator[list[int]]:
    """Yield the ids of page after page, and delete each cursor's row before the next one, if asked."""
    after = None
    while True:
        page = client.job_list(**fields, limit=limit, after=after)
        if not page.jobs:
            assert page.last_cursor is None
            return
        yield [job.id for job in page.jobs]
        if delete and page.jobs[-1].state is not JobState.RUNNING:
            client.job_delete(page.jobs[-1].id)
        after = page.last_cursor


@pytest.mark.parametrize("direction", ["asc", "desc"])
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_pages_have_no_gaps_and_no_repeats(driver: Driver, order: dict[str, Any], direction: Any) -> None:
    """Checklist 147. In every order, with ties, missing times, and when the cursor's row is gone."""
    put_jobs(driver)
    client = Client(driver)
    fields = {**order, "direction": direction}
    expected = expected_ids(driver, JobListParams(**fields))
    assert len(expected) >= 6
    for limit in (1, 2, 5, 24):
        found = list(pages(client, limit, fields, delete=False))
        assert list(chain(*found)) == expected
        assert {len(page) for page in found[:-1]} <= {limit}
    assert list(chain(*pages(client, 2, fields, delete=True))) == expected


@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_missing_times_are_last_ascending_and_first_descending(driver: Driver, direction: Any) -> None:
    """Checklist 147. Go's order, on SQLite as well."""
    waiting = put(driver)
    running = put(driver, state="running", attempt=1, attempted_at=NOW)
    page = Client(driver).job_list(order_by="time", states=["running", "available"], direction=direction)
    ids = [job.id for job in page.jobs]
    assert ids == ([running, waiting] if direction == "asc" else [waiting, running])


def test_the_last_cursor_is_the_text_of_the_last_row(driver: Driver) -> None:
    """Checklist 147. The same text on both databases, and the one that Go gives."""
    put(driver, kind="some_kind", id=7)
    client = Client(driver)
    assert client.job_list().last_cursor == (
        "eyJpZCI6Nywia2luZCI6InNvbWVfa2luZCIsInF1ZXVlIjoiZGVmYXVsdCIsInNvcnRfZmllbGQiOiJpZCIsInRpbWUiOiIwMDAxLTAx"
        "LTAxVDAwOjAwOjAwWiJ9"
    )
    assert client.job_list(order_by="scheduled_at").last_cursor == (
        "eyJpZCI6Nywia2luZCI6InNvbWVfa2luZCIsInF1ZXVlIjoiZGVmYXVsdCIsInNvcnRfZmllbGQiOiJzY2hlZHVsZWRfYXQiLCJ0aW1l"
        "IjoiMjAyNi0wOC0wN1QxNDozMDowMFoifQ=="
    )
    missing = client.job_list(order_by="time", states=["running", "available"]).last_cursor
    assert missing == (
        "eyJpZCI6Nywia2luZCI6InNvbWVfa2luZCIsInF1ZXVlIjoiZGVmYXVsdCIsInNvcnRfZmllbGQiOiJ0aW1lIiwidGltZSI6IjAwMDEt"
        "MDEtMDFUMDA6MDA6MDBaIn0="
    )


def test_a_list_goes_on_behind_an_id(driver: Driver) -> None:
    """Checklist 147. In both directions, also behind an id that is not there and behind the greatest one."""
    ids = [put(driver) for _ in range(5)]
    client = Client(driver)
    assert listed(client, after_id=ids[1]) == ids[2:]
    assert listed(client, after_id=ids[1], direction="desc") == ids[:1]
    assert listed(client, after_id=0) == ids
    assert listed(client, after_id=ids[-1] + 100, direction="desc") == ids[::-1]
    assert listed(client, after_id=2**63 - 1) == []
    assert listed(client, after_id=ids[1], states=["available"]) == ids[2:]


def test_ids_beyond_53_bits_survive(driver: Driver) -> None:
    """In filters, rows and cursors."""
    ids = [put(driver, id=2**53 + number) for number in range(3)]
    client = Client(driver)
    page = client.job_list(ids=ids, limit=1)
    assert [job.id for job in page.jobs] == [2**53]
    assert listed(client, after=page.last_cursor) == ids[1:]
    assert listed(client, ids=[2**53 + 1]) == [2**53 + 1]
    assert listed(client, ids=[2**63 - 1]) == []


def listed(client: Client, **fields: Any) -> list[int]:
    """Return the ids of a list."""
    return [job.id for job in client.job_list(**fields).jobs]


class TestFilters:
    """Each filter, and several together."""

    def test_every_filter_counts(self, driver: Driver) -> None:
        """A job passes all of them; an empty one, or none, lets every job pass."""
        a = put(driver, kind="a", queue="x", priority=1, tags=["red", "big"])
        b = put(driver, kind="b", queue="x", priority=2, tags=["red"], state="pending")
        c = put(driver, kind="a", queue="y", priority=4, state="completed", finalized_at=NOW)
        client = Client(driver)
        assert listed(client) == [a, b, c]
        assert listed(client, ids=[], kinds=[], states=[], tags_any=[], tags_all=[], metadata={}) == [a, b, c]
        assert listed(client, ids=[c, a, c, 99]) == [a, c]
        assert listed(client, ids={b, c}, order_by="scheduled_at") == [b, c]
        assert listed(client, kinds=["a", "z"]) == [a, c]
        assert listed(client, queues=("x",)) == [a, b]
        assert listed(client, priorities=[2, 4]) == [b, c]
        assert listed(client, states=[JobState.PENDING, "completed"]) == [b, c]
        assert listed(client, states=["running"]) == []
        assert listed(
            client, kinds=["a"], queues=["x"], priorities=[1], states=["available"], ids=[a, b]
        ) == [a]
        assert listed(client, kinds=["a"], states=["pending"]) == []
        assert listed(client, states=["available", "pending"], ids=[b, c]) == [b]

    def test_tags_match_exactly(self, driver: Driver) -> None:
        """In case and whole, any of them or all."""
        a = put(driver, tags=["red", "big"])
        b = put(driver, tags=["red", "Big"])
        put(driver)
        client = Client(driver)
        assert listed(client, tags_any=["red"]) == [a, b]
        assert listed(client, tags_any=["big", "none"]) == [a]
        assert listed(client, tags_all=["red", "Big"]) == [b]
        assert listed(client, tags_all=["red", "big", "none"]) == []
        assert listed(client, tags_any=["Big", "big"], tags_all=["red"]) == [a, b]
        assert listed(client, tags_any=["re"]) == []

    def test_texts_are_taken_literally(self, driver: Driver) -> None:
        """Whatever they mean in arrays, JSON or patterns."""
        client = Client(driver)
        put(driver, kind="other", queue="other")
        for text in ('say "x"', "back\\slash", "{a,b}", "NULL", "a'b", "a,b", "é\n", "%s"):
            job_id = put(driver, kind=text, queue=text)
            assert listed(client, kinds=[text, "none"], queues=["none", text]) == [job_id], text
            assert listed(client, tags_any=[text]) == []


METADATA: dict[str, Any] = {
    "integer": {"a": 1},
    "float": {"a": 1.5},
    "text": {"a": "1"},
    "true": {"a": True},
    "false": {"a": False},
    "null": {"a": None},
    "missing": {"b": 1},
    "zero": {"a": 0},
    "object": {"a": {"x": {"y": [1, 2]}, "z": None}},
    "object without": {"a": {"x": {"y": [1, 2]}}},
    "array": {"a": [1, {"k": "v"}]},
    "array turned": {"a": [{"k": "v"}, 1]},
    "text of an array": {"a": '[1,{"k":"v"}]'},
    "empty object": {"a": {}},
    "empty array": {"a": []},
    "one and two": {"a": 1, "c": 2},
}


WANTED: list[tuple[dict[str, Any], set[str]]] = [
    ({"a": 1}, {"integer", "one and two"}),
    ({"a": 1.0}, {"integer", "one and two"}),
    ({"a": 1.5}, {"float"}),
    ({"a": "1"}, {"text"}),
    ({"a": True}, {"true"}),
    ({"a": False}, {"false"}),
    ({"a": None}, {"null"}),
    ({"a": 0}, {"zero"}),
    ({"a": {"z": None, "x": {"y": [1, 2]}}}, {"object"}),
    ({"a": {"x": {"y": [1, 2]}}}, {"object without"}),
    ({"a": {"x": {"y": [2, 1]}}}, set()),
    ({"a": {"x": {"y": ["1", 2]}}}, set()),
    ({"a": [1, {"k": "v"}]}, {"array"}),
    ({"a": [1]}, set()),
    ({"a": '[1,{"k":"v"}]'}, {"text of an array"}),
    ({"a": {}}, {"empty object"}),
    ({"a": []}, {"empty array"}),
    ({"a": 1, "c": 2}, {"one and two"}),
    ({"a": 1, "b": 1}, set()),
    ({"nobody": None}, set()),
]


def test_metadata_is_compared_by_whole_values(driver: Driver) -> None:
    """Checklist 148. 1, "1", true, null and missing differ; objects compare by value."""
    ids = {put(driver, metadata=metadata): name for name, metadata in METADATA.items()}
    client = Client(driver)
    for wanted, names in WANTED:
        assert {ids[job_id] for job_id in listed(client, metadata=wanted)} == names, wanted


def test_any_key_of_metadata_can_be_asked_for(driver: Driver) -> None:
    """Checklist 148. Also below the top level, and whatever it means in paths."""
    client = Client(driver)
    put(driver, metadata={"other": {"$": ["$"]}})
    for key in ('with "quotes"', "a.b", "$", "", "é", "a[0]", "back\\slash", "0"):
        job_id = put(driver, metadata={key: {key: [key]}})
        assert listed(client, metadata={key: {key: [key]}}) == [job_id], key


def test_finalized_at_lists_only_finished_jobs(driver: Driver) -> None:
    """Checklist 149. Without states."""
    put_jobs(driver)
    jobs = Client(driver).job_list(order_by="finalized_at").jobs
    assert len(jobs) == 9
    assert {job.state for job in jobs} == FINAL_STATES


def test_a_list_gives_a_hundred_jobs_unless_told(driver: Driver) -> None:
    """River's default."""
    client = Client(driver)
    for _ in range(101):
        put(driver)
    assert len(client.job_list().jobs) == 100
    assert len(client.job_list(JobListParams(limit=101)).jobs) == 101


def test_a_list_of_nothing_has_no_cursor(driver: Driver) -> None:
    """Checklist 147."""
    page = Client(driver).job_list()
    assert (page.jobs, page.last_cursor) == ([], None)


def test_a_nonce_is_nobodys_metadata(sqlite_driver: Driver) -> None:
    """What River keeps in the metadata on SQLite is not shown."""
    put(sqlite_driver, metadata={"river:unique_nonce": "0" * 16, "mine": 1})
    assert [job.metadata for job in Client(sqlite_driver).job_list().jobs] == [{"mine": 1}]


@pytest.mark.foreign_rows
def test_a_strangers_malformed_row_hides_no_other(sqlite_driver: Driver) -> None:
    """It passes no filter on what cannot be read, and an update repairs it."""
    broken, whole = (put(sqlite_driver, metadata={"a": 1}, tags=["tag"]) for _ in range(2))
    run(sqlite_driver, "UPDATE river_job SET metadata = x'ff', tags = x'ff' WHERE id = @id", id=broken)
    client = Client(sqlite_driver)
    assert listed(client) == [broken, whole]
    assert listed(client, metadata={"a": 1}, tags_any=["tag"], tags_all=["tag"]) == [whole]
    with pytest.raises(JobRowDecodeError):
        assert client.job_get(broken).metadata
    assert client.job_update(broken, metadata={"a": 2}).metadata == {"a": 2}
