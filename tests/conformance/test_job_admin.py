"""What a client does with stored jobs besides reading them: update, delete many, count; and by vectors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from river_core.ambient import join
from river_core.client import Client
from river_core.drivers.base import Driver
from river_core.errors import JobRunningError, NotFoundError, RejectedValueError, ValidationError
from river_core.insert import EncodedArgs
from river_core.job import AttemptError, JobRow, JobState
from river_core.job_admin import QueueCount
from river_core.job_update import JobUpdateParams
from tests.conformance.listening import heard_during
from tests.conformance.raw_connections import application_connection
from tests.runtime.stored import NOW, FixedClock, put, put_running, read, run
from tests.vectors import load

pytestmark = pytest.mark.usefixtures("either_client")

FINAL = {"state": "completed", "finalized_at": NOW, "attempt": 1}
LAST_ATTEMPT = 32_767


class TestUpdate:
    """`job_update`."""

    def test_every_column_can_be_set(self, driver: Driver) -> None:
        """Checklist 111. What is not given stays."""
        job_id = put(driver, metadata={"kept": 1}, tags=["tag"])
        error = AttemptError(NOW, 3, "it broke \x00", "line 1")
        moment = NOW + timedelta(seconds=1, milliseconds=250)
        job = Client(driver).job_update(
            job_id,
            attempt=3,
            attempted_at=moment,
            attempted_by=["one", "two"],
            errors=[error],
            finalized_at=moment,
            max_attempts=4,
            state=JobState.DISCARDED,
        )
        assert (job.attempt, job.max_attempts, job.state) == (3, 4, JobState.DISCARDED)
        assert (job.attempted_at, job.finalized_at) == (moment, moment)
        assert job.attempted_by == ["one", "two"]
        assert job.errors == [AttemptError(NOW, 3, "it broke \ufffd", "line 1")]
        assert (job.metadata, job.tags, job.kind, job.scheduled_at) == ({"kept": 1}, ["tag"], "known", NOW)
        assert read(driver, job_id) == job

    def test_none_clears_what_may_be_null(self, driver: Driver) -> None:
        """Checklist 111. And an empty list stays an empty list."""
        error = {"at": "2026-08-07T14:30:00Z", "attempt": 1, "error": "x", "trace": ""}
        job_id = put(driver, **FINAL, attempted_at=NOW, attempted_by=["one"], errors=[error])
        client = Client(driver)
        assert client.job_update(job_id, errors=[], attempted_by=[]).encoded_errors == "[]"
        job = client.job_update(
            job_id, attempted_at=None, attempted_by=None, errors=None, finalized_at=None, state="available"
        )
        assert (job.attempted_at, job.encoded_attempted_by, job.encoded_errors) == (None, None, None)
        assert (job.finalized_at, job.state) == (None, JobState.AVAILABLE)

    def test_the_bounds_of_attempts(self, driver: Driver) -> None:
        """Checklist 111. 0 and 1 up to 32767 are stored; beyond them nothing is written."""
        job_id = put(driver, attempt=5)
        client = Client(driver)
        job = client.job_update(job_id, attempt=LAST_ATTEMPT, max_attempts=LAST_ATTEMPT)
        assert (job.attempt, job.max_attempts) == (LAST_ATTEMPT, LAST_ATTEMPT)
        for name, value in (("attempt", LAST_ATTEMPT + 1), ("max_attempts", 0)):
            with pytest.raises(ValidationError, match=name):
                client.job_update(job_id, **{name: value})
        assert read(driver, job_id) == job
        job = client.job_update(job_id, attempt=0, max_attempts=1)
        assert (job.attempt, job.max_attempts) == (0, 1)

    def test_metadata_replaces_and_output_merges(self, driver: Driver) -> None:
        """Checklist 109 and 111. With both, the output wins over the metadata's own."""
        job_id = put(driver, metadata={"a": 1, "b": {"c": [None]}})
        client = Client(driver)
        assert client.job_update(job_id, output={"n": 1}).metadata == {
            "a": 1,
            "b": {"c": [None]},
            "output": {"n": 1},
        }
        assert client.job_update(job_id, output=None).metadata["output"] is None
        assert client.job_update(job_id, output="null").metadata["output"] == "null"
        assert client.job_update(job_id, metadata={"new": True}).metadata == {"new": True}
        both = client.job_update(job_id, metadata={"output": "theirs", "x": 1}, output="ours")
        assert both.metadata == {"output": "ours", "x": 1}
        assert client.job_update(job_id, metadata={}).metadata == {}

    @pytest.mark.parametrize("output", [None, True, 0, "", "é<\u2028", [], {"a": {"b": [1, None, "x"]}}])
    def test_any_json_is_an_output(self, driver: Driver, output: Any) -> None:
        """Checklist 109. It comes back as it was, and the other keys stay."""
        job_id = put(driver, metadata={"kept": None})
        Client(driver).job_update(job_id, output=output)
        assert read(driver, job_id).metadata == {"kept": None, "output": output}

    def test_numbers_keep_their_digits(self, driver: Driver) -> None:
        """Checklist 109 and 164. In what stays and in what is written."""
        digits = "123456789012345678901234567890"
        job_id = put(driver, metadata={"big": int(digits)})
        job = Client(driver).job_update(job_id, output=[int(digits)])
        assert job.encoded_metadata.count(digits) == 2

    def test_a_state_that_breaks_the_tables_rules_is_refused(self, driver: Driver) -> None:
        """Checklist 111. The database's own check; nothing is written."""
        job_id = put(driver)
        with pytest.raises(RejectedValueError):
            Client(driver).job_update(job_id, state="completed")
        assert read(driver, job_id).state is JobState.AVAILABLE

    def test_an_update_of_nothing_reads(self, driver: Driver) -> None:
        """As River's does; a missing job is not found either way."""
        job_id = put(driver)
        client = Client(driver)
        assert (
            client.job_update(job_id)
            == client.job_update(job_id, JobUpdateParams())
            == client.job_get(job_id)
        )
        for fields in ({}, {"attempt": 1}):
            with pytest.raises(NotFoundError):
                client.job_update(job_id + 1, **fields)


class TestDeleteMany:
    """`job_delete_many`."""

    def test_what_is_meant_goes_in_the_order_of_ids(self, driver: Driver) -> None:
        """Checklist 150. Running jobs stay; the limit takes the lowest ids."""
        running = put_running(driver, "c", kind="a")
        ids = [put(driver, kind="a", priority=4 - number, **FINAL) for number in range(3)]
        other = put(driver, kind="b")
        client = Client(driver)
        first = client.job_delete_many(kinds=["a"], limit=2)
        assert [job.id for job in first] == ids[:2]
        assert [job.priority for job in first] == [4, 3]
        assert [job.id for job in client.job_delete_many(kinds=["a"])] == ids[2:]
        assert [job.id for job in client.job_list().jobs] == [running, other]
        assert client.job_delete_many(states=["running"]) == []

    def test_every_filter_counts(self, driver: Driver) -> None:
        """Checklist 150. As in a list."""
        client = Client(driver)
        target = {"kind": "k", "queue": "q", "priority": 2, "tags": ["red", "big"], "metadata": {"a": 1}}
        filters: list[dict[str, Any]] = [
            {"kinds": ["k"]},
            {"queues": ["q"]},
            {"priorities": [2]},
            {"tags_any": ["red"]},
            {"tags_all": ["red", "big"]},
            {"metadata": {"a": 1}},
            {"states": ["pending"]},
        ]
        for fields in filters:
            kept, deleted = put(driver), put(driver, **target, state="pending")
            assert [job.id for job in client.job_delete_many(**fields)] == [deleted]
            assert [job.id for job in client.job_delete_many(ids=[kept, deleted])] == [kept]

    def test_nothing_is_deleted_without_a_filter(self, driver: Driver) -> None:
        """Checklist 150. Unless all is meant, and said."""
        ids = [put(driver), put(driver), put_running(driver, "c")]
        client = Client(driver)
        given: list[dict[str, Any]] = [{}, {"kinds": []}, {"limit": 10}]
        for fields in given:
            with pytest.raises(ValidationError, match="unsafe_all"):
                client.job_delete_many(**fields)
        assert len(client.job_list().jobs) == 3
        assert [job.id for job in client.job_delete_many(unsafe_all=True)] == ids[:2]

    @pytest.mark.postgres
    def test_a_row_that_somebody_holds_is_passed_over(
        self, postgres_driver: Driver, postgres_url: str
    ) -> None:
        """Checklist 150. A deletion waits for nobody."""
        held, free = put(postgres_driver), put(postgres_driver)
        with application_connection(postgres_url) as application:
            application.execute("SELECT FROM river_job WHERE id = %s FOR UPDATE", [held])
            deleted = Client(postgres_driver).job_delete_many(unsafe_all=True)
        assert [job.id for job in deleted] == [free]


class TestCounts:
    """What user interfaces show."""

    def test_states_are_counted(self, driver: Driver) -> None:
        """All eight, 0 included."""
        client = Client(driver)
        assert client.job_count_by_state() == dict.fromkeys(JobState, 0)
        put(driver)
        put(driver)
        put(driver, **FINAL)
        expected = {**dict.fromkeys(JobState, 0), JobState.AVAILABLE: 2, JobState.COMPLETED: 1}
        assert client.job_count_by_state() == expected

    def test_queues_are_counted(self, driver: Driver) -> None:
        """Each once, by name, 0 for one without jobs."""
        for queue in ("b", "b", "other"):
            put(driver, queue=queue)
        put(driver, queue="b", state="pending")
        put_running(driver, "c", queue="a")
        client = Client(driver)
        assert client.job_count_by_queue(["b", "none", "a", "b"]) == [
            QueueCount("a", 0, 1),
            QueueCount("b", 2, 0),
            QueueCount("none", 0, 0),
        ]
        assert client.job_count_by_queue([]) == []

    def test_kinds_are_listed(self, driver: Driver) -> None:
        """Each once, by name in byte order, filtered and page by page."""
        for kind in ("send_mail", "Resize", "send_mail", "100%", "resize_all"):
            put(driver, kind=kind)
        client = Client(driver)
        assert client.job_kind_list() == ["100%", "Resize", "resize_all", "send_mail"]
        assert client.job_kind_list(limit=2) == ["100%", "Resize"]
        assert client.job_kind_list(after="Resize") == ["resize_all", "send_mail"]
        assert client.job_kind_list(match="RESIZE") == ["Resize", "resize_all"]
        assert client.job_kind_list(match="%") == ["100%"]
        assert client.job_kind_list(exclude=["Resize", "100%"]) == ["resize_all", "send_mail"]
        with pytest.raises(ValidationError, match="limit"):
            client.job_kind_list(limit=0)
        with pytest.raises(ValidationError, match="exclude"):
            client.job_kind_list(exclude="Resize")


def test_a_future_job_with_the_last_attempt_cannot_be_retried(driver: Driver) -> None:
    """Checklist 151. One that is due is unchanged instead."""
    future = put(
        driver, attempt=LAST_ATTEMPT, max_attempts=LAST_ATTEMPT, scheduled_at=NOW + timedelta(hours=1)
    )
    due = put(driver, attempt=LAST_ATTEMPT, max_attempts=LAST_ATTEMPT)
    running = put_running(driver, "c", attempt=LAST_ATTEMPT, max_attempts=LAST_ATTEMPT)
    client = Client(driver, clock=FixedClock())
    before = client.job_get(future)
    with pytest.raises(ValidationError, match="32767"):
        client.job_retry(future)
    assert client.job_get(future) == before
    for job_id in (due, running):
        assert client.job_retry(job_id) == read(driver, job_id)


VECTORS = load("rows.json")["scenarios"]


def vectors(group: str) -> list[Any]:
    """Return the recorded calls of a group that name the state before, and no other job."""
    named = [item for item in VECTORS if item["group"] == group and " while " in item["name"]]
    chosen = [item for item in named if "unique job" not in item["name"]]
    return [pytest.param(item, id=item["name"]) for item in chosen]


def put_vector(driver: Driver, row: dict[str, Any]) -> int:
    """Put a recorded row; its times are as far from now as they were."""
    past = NOW - timedelta(minutes=1)
    return put(
        driver,
        kind=row["kind"],
        queue=row["queue"],
        state=row["state"],
        attempt=row["attempt"],
        max_attempts=row["max_attempts"],
        attempted_by=row["attempted_by"],
        errors=row["errors"],
        attempted_at=past if row["attempted_at_set"] else None,
        finalized_at=past if row["finalized_at_set"] else None,
        scheduled_at=NOW + timedelta(seconds=row["scheduled_minus_now"]),
    )


def compare(job: JobRow, row: dict[str, Any]) -> None:
    """Check a row against a recorded one."""
    assert (job.state, job.attempt, job.max_attempts) == (row["state"], row["attempt"], row["max_attempts"])
    assert json.loads(job.encoded_errors or "null") == row["errors"]
    assert json.loads(job.encoded_attempted_by or "null") == row["attempted_by"]
    assert (job.attempted_at is not None) == row["attempted_at_set"]
    assert (job.finalized_at is not None) == row["finalized_at_set"]
    assert (job.scheduled_at - NOW).total_seconds() == pytest.approx(row["scheduled_minus_now"], abs=0.001)


@pytest.mark.parametrize("vector", vectors("retry by client"))
def test_a_retry_leaves_the_row_that_go_leaves(driver: Driver, vector: dict[str, Any]) -> None:
    """Checklist 151. In each state."""
    row = vector["row"]
    discarded = {**row, "state": "discarded", "finalized_at_set": True, "scheduled_minus_now": -1}
    job_id = put_vector(driver, vector.get("before", discarded))
    job = Client(driver, clock=FixedClock()).job_retry(job_id)
    compare(job, row)
    assert job.metadata == row["metadata"]
    assert read(driver, job_id) == job


@pytest.mark.parametrize("vector", vectors("cancel by client"))
def test_a_cancellation_leaves_the_row_that_go_leaves(driver: Driver, vector: dict[str, Any]) -> None:
    """Checklist 93 and 94. In each state."""
    row = vector["row"]
    was_final = vector["state_before"] in ("cancelled", "completed", "discarded")
    before = {**row, "state": vector["state_before"], "finalized_at_set": was_final}
    job_id = put_vector(driver, before)
    job = Client(driver, clock=FixedClock()).job_cancel(job_id)
    compare(job, row)
    assert job.metadata == ({"cancel_attempted_at": "2026-08-07T14:30:00Z"} if vector["changed"] else {})


@pytest.mark.parametrize("vector", vectors("delete by client"))
def test_a_deletion_is_refused_as_go_refuses_it(driver: Driver, vector: dict[str, Any]) -> None:
    """Checklist 150. Only of a running job."""
    state = vector["name"].removeprefix("delete while ")
    final = state in ("cancelled", "completed", "discarded")
    job_id = put(driver, state=state, finalized_at=NOW if final else None)
    client = Client(driver)
    if vector["error"]:
        with pytest.raises(JobRunningError):
            client.job_delete(job_id)
    else:
        client.job_delete(job_id)
    assert bool(client.job_list(ids=[job_id]).jobs) == vector["row_still_there"]


CHANGES: list[Any] = [
    pytest.param(lambda client, *on: client.job_cancel_tx(*on, 1), id="cancel"),
    pytest.param(lambda client, *on: client.job_retry_tx(*on, 1), id="retry"),
    pytest.param(lambda client, *on: client.job_update_tx(*on, 1, max_attempts=7), id="update"),
    pytest.param(lambda client, *on: client.job_delete_tx(*on, 1), id="delete"),
    pytest.param(lambda client, *on: client.job_delete_many_tx(*on, ids=[1]), id="delete many"),
]
JOINED: list[Any] = [
    pytest.param(lambda client: client.job_cancel(1), id="cancel"),
    pytest.param(lambda client: client.job_retry(1), id="retry"),
    pytest.param(lambda client: client.job_update(1, max_attempts=7), id="update"),
    pytest.param(lambda client: client.job_delete(1), id="delete"),
    pytest.param(lambda client: client.job_delete_many(ids=[1]), id="delete many"),
]


@contextmanager
def rolled_back(url: str) -> Iterator[Any]:
    """An application's connection whose transaction comes to nothing."""
    with application_connection(url) as application:
        yield application
        application.rollback()


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_belongs_to_the_given_transaction(
    driver: Driver, database_url: str, change: Callable[..., object]
) -> None:
    """Seen inside, gone with a roll-back, of which nobody is told, and kept by a commit."""
    put(driver, state="scheduled", scheduled_at=datetime.now(UTC) + timedelta(hours=1))
    client = Client(driver)
    before = client.job_get(1)

    def roll_back() -> None:
        with rolled_back(database_url) as application:
            change(client, application)
            assert client.job_list_tx(application).jobs != [before]
            assert client.job_list().jobs == [before]

    assert heard_during(driver, roll_back) == []
    assert client.job_get(1) == before
    with application_connection(database_url) as application:
        change(client, application)
        application.commit()
    assert client.job_list().jobs != [before]


@pytest.mark.parametrize("change", JOINED)
def test_a_change_joins_the_transaction(
    driver: Driver, database_url: str, change: Callable[[Client], object]
) -> None:
    """As an insert does."""
    put(driver, state="scheduled", scheduled_at=datetime.now(UTC) + timedelta(hours=1))
    client = Client(driver)
    before = client.job_get(1)
    with rolled_back(database_url) as application:
        with join(application):
            change(client)
            assert client.job_list().jobs != [before]
        assert client.job_list().jobs == [before]
    assert client.job_list().jobs == [before]


def test_a_transaction_reads_its_own_jobs(driver: Driver, database_url: str) -> None:
    """By id and in lists; others do not see them."""
    client = Client(driver)
    with rolled_back(database_url) as application:
        client.insert_tx(application, EncodedArgs("k", "{}"))
        [job] = client.job_list_tx(application, kinds=["k"]).jobs
        assert client.job_get_tx(application, job.id) == job
        with pytest.raises(NotFoundError):
            client.job_get(job.id)
    assert run(driver, "SELECT count(*) FROM river_job")[0][0] == 0
