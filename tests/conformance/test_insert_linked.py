"""Jobs that wait for each other are inserted together or not at all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from river_core.client import Client
from river_core.drivers.base import Driver
from river_core.errors import ValidationError
from river_core.insert import InsertParams
from river_core.job import JobRow, JobState
from river_core.json_text import top_level
from river_core.links import Feed, Links, feeds_of, members_of

ROW = InsertParams("step", '{"a": 1e400}', encoded_metadata='{"own": 1e400}')


def waiting(name: str, *feeds: Feed, **fields: object) -> InsertParams:
    """A row that waits under `name`."""
    return replace(ROW, state=JobState.PENDING, links=Links(name, feeds, **fields))  # type: ignore[arg-type]


def member(*feeds: Feed) -> InsertParams:
    """A row that feeds others."""
    return replace(ROW, links=Links(feeds=feeds))


def stored(driver: Driver) -> list[JobRow]:
    """All rows, by id."""
    return Client(driver).job_list(limit=100).jobs


def test_a_batch_names_its_own_rows(driver: Driver) -> None:
    """Members before and after what waits for them; results in input order; metadata keeps its digits."""
    middle = waiting("end", Feed("last", 0), delay=2.5)
    rows = [member(Feed("end", 0)), middle, ROW, member(Feed("end", 1)), waiting("last")]
    results = [result.job for result in Client(driver).insert_params(rows)]
    first, end, alone, second, last = results
    assert [row.state for row in results] == [
        JobState.AVAILABLE, JobState.PENDING, JobState.AVAILABLE, JobState.AVAILABLE, JobState.PENDING,
    ]  # fmt: skip
    assert feeds_of(first.metadata) == [(end.id, 0)]
    assert feeds_of(second.metadata) == [(end.id, 1)]
    assert members_of(end.metadata) == [first.id, second.id]
    assert end.metadata["python_task_delay"] == 2.5
    assert members_of(last.metadata) == [end.id]
    assert {row.id for row in stored(driver)} == {row.id for row in results}
    own = [top_level(row.encoded_metadata)["own"] for row in results]
    assert own == [top_level(alone.encoded_metadata)["own"]] * 5


def test_ids_go_on_after_them(driver: Driver) -> None:
    """An ordinary insert that follows has an id of its own."""
    client = Client(driver)
    taken = {result.job.id for result in client.insert_params([member(Feed("end", 0)), waiting("end")])}
    following = client.insert_params([ROW])[0].job.id
    assert following not in taken
    again = {result.job.id for result in client.insert_params([member(Feed("end", 0)), waiting("end")])}
    assert not again & {*taken, following}


def test_a_stored_row_waits_for_one_more(driver: Driver) -> None:
    """The new member has the next index; a row that waits no more gets none, and a given index is kept."""
    client = Client(driver)
    results = client.insert_params([member(Feed("end", 0)), waiting("end")])
    end = results[1].job.id
    added = [result.job for result in client.insert_params([member(Feed(end)), member(Feed(end))])]
    assert [feeds_of(row.metadata) for row in added] == [[(end, 1)], [(end, 2)]]
    assert members_of(client.job_get(end).metadata) == [results[0].job.id, added[0].id, added[1].id]
    again = client.insert_params([member(Feed(end, 0))])[0].job
    assert feeds_of(again.metadata) == [(end, 0)]
    client.job_cancel(end)
    late = client.insert_params([member(Feed(end))])[0].job
    assert feeds_of(late.metadata) == []


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([member(Feed("end", 0))], "no waiting job 'end'"),
        ([waiting("end")], "needs members"),
        ([member(Feed("end", 1)), waiting("end")], "all indexes from 0"),
        ([member(Feed("end", 0), Feed("end", 0)), waiting("end")], "given twice"),
        ([member(Feed("end")), waiting("end")], "missing"),
        ([member(Feed("end", 0)), waiting("end"), waiting("end")], "two waiting jobs"),
        ([member(Feed("end", 0)), replace(waiting("end"), state=JobState.AVAILABLE)], "must be pending"),
        ([replace(member(Feed("end", 0)), unique_key=b"k", unique_states=1), waiting("end")], "unique"),
    ],
)
def test_links_that_lead_nowhere_are_refused(driver: Driver, rows: list[InsertParams], message: str) -> None:
    """Nothing of the batch is written."""
    with pytest.raises(ValidationError, match=message):
        Client(driver).insert_params([ROW, *rows])
    assert stored(driver) == []
