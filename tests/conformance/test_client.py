"""What a client does with stored jobs and queues: read, cancel, retry, delete, pause, resume."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from river_core.ambient import join
from river_core.client import Client
from river_core.db.queues import queue_create_or_set_updated_at
from river_core.db.statement import Dialect
from river_core.drivers.base import Driver
from river_core.errors import JobRunningError, NotFoundError, UniqueConflictError, ValidationError
from river_core.insert import EncodedArgs, InsertParams
from river_core.job import FINAL_STATES, JobRow, JobState
from tests.conformance.listening import DEADLINE, heard_during
from tests.conformance.raw_connections import application_connection, fetch

pytestmark = pytest.mark.usefixtures("either_client")

ARGS = EncodedArgs("some_kind", '{"a":1}')
PAST = datetime(2026, 1, 2, 3, 4, 5, 678900, tzinfo=UTC)


MOVE_ON_POSTGRES = """
UPDATE river_job
SET state = @state::text::river_job_state, attempt = @attempt::int,
    finalized_at = @finalized_at::text::timestamptz, attempted_at = @attempted_at::text::timestamptz
WHERE id = @id::bigint
"""
MOVE_ON_SQLITE = """
UPDATE river_job
SET state = @state, attempt = @attempt, finalized_at = @finalized_at, attempted_at = @attempted_at
WHERE id = @id
"""
WAITING_SESSIONS = """
SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()
"""


class FixedClock:
    """A clock that a test has set."""

    def __init__(self, moment: datetime) -> None:
        """Stand still at `moment`."""
        self.moment = moment

    def now(self) -> datetime:
        """Return the moment."""
        return self.moment


def job_in(
    driver: Driver, state: JobState, *, attempt: int = 0, scheduled_at: datetime | None = None
) -> JobRow:
    """Insert a job and put it into `state` by plain SQL, as if it had come there by itself."""
    job = Client(driver).insert(ARGS, queue="mail", metadata={"kept": 1.5}, scheduled_at=scheduled_at).job
    update = MOVE_ON_POSTGRES if driver.sql.dialect is Dialect.POSTGRES else MOVE_ON_SQLITE
    now = driver.sql.time(PAST)
    fetch(
        driver,
        update,
        state=state.value,
        attempt=attempt,
        finalized_at=now if state in FINAL_STATES else None,
        attempted_at=now if attempt else None,
        id=job.id,
    )
    return Client(driver).job_get(job.id)


def add_queue(driver: Driver, name: str, now: datetime | None = None) -> None:
    """Make a queue known, as a worker does when it starts."""
    with driver.connect() as connection:
        connection.fetch(queue_create_or_set_updated_at(driver.sql, name, now))


MISSING: list[Callable[[Client], object]] = [
    lambda client: client.job_get(7),
    lambda client: client.job_cancel(7),
    lambda client: client.job_retry(7),
    lambda client: client.job_delete(7),
    lambda client: client.job_get(2**63),
    lambda client: client.job_get(0),
    lambda client: client.queue_get("nowhere"),
    lambda client: client.queue_pause("nowhere"),
    lambda client: client.queue_resume("nowhere"),
]


@pytest.mark.parametrize("action", MISSING)
def test_what_does_not_exist_is_not_found(driver: Driver, action: Callable[[Client], object]) -> None:
    """Checklist 64, 93. Ids beyond the column's range included."""
    with pytest.raises(NotFoundError):
        action(Client(driver))


@pytest.mark.parametrize("job_id", ["7", 7.0, True, None])
def test_an_id_is_a_whole_number(driver: Driver, job_id: Any) -> None:
    """Anything else is a mistake of the caller."""
    with pytest.raises(ValidationError, match="id"):
        Client(driver).job_get(job_id)


class TestCancel:
    """`job_cancel`."""

    @pytest.mark.parametrize("state", ["available", "pending", "retryable", "scheduled"])
    def test_a_waiting_job_is_cancelled_now(self, driver: Driver, state: str) -> None:
        """Checklist 93. Without an entry in `errors`; its metadata says when."""
        before = job_in(driver, JobState(state))
        clock = FixedClock(PAST)
        client = Client(driver, clock=clock)
        job = client.job_cancel(before.id)
        assert (job.state, job.errors, job.attempt) == (JobState.CANCELLED, [], before.attempt)
        assert job.metadata == {"kept": 1.5, "cancel_attempted_at": "2026-01-02T03:04:05.6789Z"}
        assert job.finalized_at is not None
        assert abs(job.finalized_at - PAST) < timedelta(milliseconds=1)
        assert Client(driver).job_get(job.id) == job

    def test_a_running_job_is_asked_to_stop(self, driver: Driver) -> None:
        """Checklist 94. The row stays `running` with the mark, also when asked again."""
        before = job_in(driver, JobState.RUNNING, attempt=1)
        client = Client(driver, clock=FixedClock(PAST))
        for _ in range(2):
            job = client.job_cancel(before.id)
            assert (job.state, job.finalized_at) == (JobState.RUNNING, None)
            assert job.metadata["cancel_attempted_at"] == "2026-01-02T03:04:05.6789Z"

    @pytest.mark.parametrize("state", sorted(FINAL_STATES))
    def test_a_finished_job_stays_as_it_is(self, driver: Driver, state: JobState) -> None:
        """Checklist 52, 93. Nothing is written and nobody is told."""
        before = job_in(driver, state, attempt=1)
        client = Client(driver)
        assert heard_during(driver, lambda: client.job_cancel(before.id)) == []
        assert client.job_get(before.id) == before

    @pytest.mark.parametrize("state", ["available", "running"])
    def test_the_queues_workers_are_told(self, driver: Driver, state: str) -> None:
        """Checklist 52. With the three keys that other clients read."""
        job = job_in(driver, JobState(state), attempt=1)
        heard = heard_during(driver, lambda: Client(driver).job_cancel(job.id))
        assert [(item.topic, json.loads(item.payload)) for item in heard] == [
            ("river_control", {"action": "cancel", "job_id": job.id, "queue": "mail"})
        ]

    @pytest.mark.postgres
    def test_the_later_of_two_cancels_returns_what_the_first_wrote(
        self, postgres_driver: Driver, postgres_url: str
    ) -> None:
        """Checklist 94. It waits for the row instead of writing over it."""
        job = job_in(postgres_driver, JobState.AVAILABLE)
        later: list[JobRow] = []
        with application_connection(postgres_url) as application:
            with join(application):
                first = Client(postgres_driver, clock=FixedClock(PAST)).job_cancel(job.id)
            thread = threading.Thread(target=lambda: later.append(Client(postgres_driver).job_cancel(job.id)))
            thread.start()
            wait_until_blocked(postgres_driver)
            application.commit()
            thread.join(DEADLINE)
        assert later == [first]


def wait_until_blocked(driver: Driver) -> None:
    """Wait until some session waits for a lock of another one."""
    pause = threading.Event()
    for _ in range(int(DEADLINE / 0.01)):
        if fetch(driver, WAITING_SESSIONS)[0][0]:
            return
        pause.wait(0.01)
    raise AssertionError("nobody waits for the row")


class TestRetry:
    """`job_retry`."""

    @pytest.mark.parametrize(
        "state", ["pending", "retryable", "scheduled", "cancelled", "completed", "discarded"]
    )
    def test_a_job_becomes_available_now(self, driver: Driver, state: str) -> None:
        """Checklist 151. Attempts and errors stay, the cancellation mark goes."""
        before = job_in(
            driver, JobState(state), attempt=2, scheduled_at=datetime.now(UTC) + timedelta(hours=1)
        )
        moment = datetime.now(UTC).replace(microsecond=0)
        job = Client(driver, clock=FixedClock(moment)).job_retry(before.id)
        assert (job.state, job.finalized_at, job.scheduled_at) == (JobState.AVAILABLE, None, moment)
        assert (job.attempt, job.max_attempts, job.attempted_at) == (2, 25, before.attempted_at)
        assert job.metadata == {"kept": 1.5}

    def test_a_cancelled_job_loses_its_mark(self, driver: Driver) -> None:
        """Checklist 151. Otherwise its next failure would cancel it again."""
        client = Client(driver)
        job = client.job_cancel(job_in(driver, JobState.AVAILABLE).id)
        assert "cancel_attempted_at" in job.metadata
        assert client.job_retry(job.id).metadata == {"kept": 1.5}

    @pytest.mark.parametrize(("attempt", "expected"), [(24, 25), (25, 26), (30, 31), (32766, 32767)])
    def test_there_is_always_an_attempt_left(self, driver: Driver, attempt: int, expected: int) -> None:
        """Checklist 151. A spent budget grows by what is needed."""
        job = job_in(driver, JobState.DISCARDED, attempt=attempt)
        assert Client(driver).job_retry(job.id).max_attempts == expected

    def test_the_last_possible_attempt_cannot_be_repeated(self, driver: Driver) -> None:
        """Checklist 151. The column ends there; the row is unchanged."""
        before = job_in(driver, JobState.DISCARDED, attempt=32767)
        with pytest.raises(ValidationError, match="32767"):
            Client(driver).job_retry(before.id)
        assert Client(driver).job_get(before.id) == before

    def test_a_running_job_and_one_that_is_due_stay_as_they_are(self, driver: Driver) -> None:
        """Checklist 151. Nothing is written and nobody is told."""
        client = Client(driver)
        for before in (job_in(driver, JobState.RUNNING, attempt=1), job_in(driver, JobState.AVAILABLE)):
            assert heard_during(driver, lambda job=before: client.job_retry(job.id)) == []  # type: ignore[misc] # bound now
            assert client.job_get(before.id) == before

    def test_an_available_job_of_the_future_is_due_now(self, driver: Driver) -> None:
        """Checklist 151. Only its time changes."""
        later = datetime.now(UTC) + timedelta(hours=1)
        job = Client(driver).insert(ARGS, state=JobState.AVAILABLE, scheduled_at=later).job
        assert Client(driver).job_retry(job.id).scheduled_at < later

    @pytest.mark.postgres
    def test_a_retry_in_an_older_transaction_leaves_a_newer_one(
        self, postgres_driver: Driver, postgres_url: str
    ) -> None:
        """Checklist 94 and 151. Postgres' now is the start of the transaction, before the other retry."""
        job = job_in(postgres_driver, JobState.DISCARDED, attempt=1)
        client = Client(postgres_driver)
        with application_connection(postgres_url) as application:
            application.execute("SELECT now()")
            retried = client.job_retry(job.id)
            assert client.job_retry_tx(application, job.id) == retried
            application.commit()
        assert client.job_get(job.id) == retried

    def test_the_queues_workers_are_woken(self, driver: Driver) -> None:
        """Checklist 151. As after an insert."""
        job = job_in(driver, JobState.DISCARDED, attempt=1)
        heard = heard_during(driver, lambda: Client(driver).job_retry(job.id))
        assert [(item.topic, json.loads(item.payload)) for item in heard] == [
            ("river_insert", {"queue": "mail"})
        ]

    @pytest.mark.parametrize("state", [JobState.CANCELLED, JobState.DISCARDED])
    def test_a_taken_unique_key_is_a_conflict(self, driver: Driver, state: JobState) -> None:
        """Checklist 47, 151. The error names the job; its row is unchanged."""
        client = Client(driver)
        params = InsertParams("some_kind", "{}", unique_key=b"k" * 32, unique_states=245)
        first = client.insert_params([params])[0].job
        old = client.job_update(first.id, state=state, finalized_at=PAST)
        assert not client.insert_params([params])[0].unique_skipped_as_duplicate
        with pytest.raises(UniqueConflictError) as caught:
            client.job_retry(old.id)
        assert caught.value.job_id == old.id
        assert client.job_get(old.id) == old


class TestDelete:
    """`job_delete`."""

    @pytest.mark.parametrize("state", sorted(set(JobState) - {JobState.RUNNING}))
    def test_a_job_that_does_not_run_is_deleted_and_returned(self, driver: Driver, state: JobState) -> None:
        """Checklist 150. Whatever its state."""
        job = job_in(driver, state)
        assert Client(driver).job_delete(job.id) == job
        with pytest.raises(NotFoundError):
            Client(driver).job_get(job.id)

    def test_a_running_job_is_kept(self, driver: Driver) -> None:
        """Checklist 150. The text says what to do first."""
        job = job_in(driver, JobState.RUNNING, attempt=1)
        with pytest.raises(JobRunningError, match="cancel it first"):
            Client(driver).job_delete(job.id)
        assert Client(driver).job_get(job.id) == job


class TestQueues:
    """Queues, as rows that workers make."""

    def test_a_queue_is_known_once_it_was_worked(self, driver: Driver) -> None:
        """With empty metadata and not paused; by name."""
        for name in ("b", "a", "B", "c"):
            add_queue(driver, name)
        client = Client(driver)
        queue = client.queue_get("a")
        assert (queue.name, queue.encoded_metadata, queue.paused_at) == ("a", "{}", None)
        assert queue.created_at == queue.updated_at
        assert queue.created_at.tzinfo is UTC
        assert [item.name for item in client.queue_list()] == ["B", "a", "b", "c"]
        assert [item.name for item in client.queue_list(limit=2)] == ["B", "a"]

    @pytest.mark.parametrize("limit", [0, -1, 10_001])
    def test_a_list_has_limits(self, driver: Driver, limit: int) -> None:
        """1 to 10,000."""
        with pytest.raises(ValidationError, match="limit"):
            Client(driver).queue_list(limit)

    def test_working_a_queue_again_changes_its_time_only(self, driver: Driver) -> None:
        """Checklist 65, 68. A pause and the creation stay."""
        add_queue(driver, "a", PAST)
        client = Client(driver)
        client.queue_pause("a")
        before = client.queue_get("a")
        later = PAST + timedelta(hours=1)
        add_queue(driver, "a", later)
        after = client.queue_get("a")
        assert abs(after.updated_at - later) < timedelta(milliseconds=1)
        assert (after.created_at, after.paused_at) == (before.created_at, before.paused_at)

    def test_pause_and_resume_change_a_queue_once(self, driver: Driver) -> None:
        """A repeated pause keeps the first one's time."""
        add_queue(driver, "a", PAST)
        add_queue(driver, "b", PAST)
        Client(driver, clock=FixedClock(PAST + timedelta(hours=1))).queue_pause("a")
        paused = Client(driver).queue_get("a")
        assert paused.paused_at is not None
        assert paused.paused_at == paused.updated_at
        Client(driver).queue_pause("a")
        assert Client(driver).queue_get("a") == paused
        assert Client(driver).queue_get("b").paused_at is None
        Client(driver).queue_resume("a")
        resumed = Client(driver).queue_get("a")
        assert resumed.paused_at is None
        assert resumed.updated_at > paused.updated_at
        Client(driver).queue_resume("a")
        assert Client(driver).queue_get("a") == resumed

    def test_the_star_means_all_queues_even_none(self, driver: Driver) -> None:
        """Checklist 64. It is never missing."""
        client = Client(driver)
        client.queue_pause("*")
        add_queue(driver, "a")
        add_queue(driver, "b")
        client.queue_pause("*")
        assert all(queue.paused_at for queue in client.queue_list())
        client.queue_resume("*")
        assert not any(queue.paused_at for queue in client.queue_list())

    @pytest.mark.parametrize("name", ["a", "*"])
    def test_workers_are_told_with_the_given_name(self, driver: Driver, name: str) -> None:
        """Checklist 52. Also when nothing changed; with the two keys that other clients read."""
        add_queue(driver, "a")
        client = Client(driver)

        def change() -> None:
            client.queue_pause(name)
            client.queue_pause(name)
            client.queue_resume(name)

        heard = [(item.topic, json.loads(item.payload)) for item in heard_during(driver, change)]
        assert heard == [
            ("river_control", {"action": action, "queue": name}) for action in ("pause", "pause", "resume")
        ]
