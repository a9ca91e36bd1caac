"""Insertion, on both databases: what a row holds, what is refused, and that nothing is written then."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from river_core.ambient import join
from river_core.client import Client
from river_core.db.statement import Dialect
from river_core.drivers.base import Driver
from river_core.errors import (
    ConfigurationError,
    RejectedValueError,
    UnknownJobKindError,
    ValidationError,
)
from river_core.insert import EncodedArgs, InsertManyParams, InsertOpts, InsertParams
from river_core.job import JobRow, JobState
from river_core.task import Registry
from tests.conformance.applications import every_library
from tests.conformance.raw_connections import count_jobs, fetch

ARGS = EncodedArgs("some_kind", '{"a":1}')
MOMENT = datetime(2026, 8, 7, 14, 32, 57, 123456, tzinfo=UTC)


FORMS = """
SELECT typeof(args), typeof(metadata), typeof(tags), length(created_at), length(scheduled_at), attempt
FROM river_job
"""


@dataclass(frozen=True)
class ArgsWithOptions:
    """Arguments whose class brings options of its own."""

    options: InsertOpts
    kind: str = "with_options"

    def to_json(self) -> str:
        """Return no arguments."""
        return "{}"

    def insert_opts(self) -> InsertOpts:
        """Return the class's options."""
        return self.options


class FixedClock:
    """A clock that a test has set."""

    def now(self) -> datetime:
        """Return always the same time."""
        return MOMENT


def database_now(driver: Driver) -> datetime:
    """Return the database's clock."""
    if driver.sql.dialect is Dialect.POSTGRES:
        moment: datetime = fetch(driver, "SELECT clock_timestamp()")[0][0]
        return moment
    return datetime.fromisoformat(fetch(driver, "SELECT strftime('%Y-%m-%d %H:%M:%f', 'now') || 'Z'")[0][0])


def stored(driver: Driver, row: JobRow) -> JobRow:
    """Return the row as a later reader sees it."""
    return Client(driver).job_get(row.id)


def test_the_defaults_are_rivers(driver: Driver) -> None:
    """Every column of a job that was inserted without options; the times are the database's.

    Checklist 17, 23.
    """
    before = database_now(driver)
    job = Client(driver).insert(ARGS).job
    after = database_now(driver)
    assert before <= job.created_at == job.scheduled_at <= after
    assert job.created_at.tzinfo is UTC
    expected = JobRow(
        id=job.id,
        state=JobState.AVAILABLE,
        attempt=0,
        max_attempts=25,
        attempted_at=None,
        created_at=job.created_at,
        finalized_at=None,
        scheduled_at=job.created_at,
        priority=1,
        queue="default",
        kind="some_kind",
        encoded_args=job.encoded_args,
        encoded_metadata="{}",
        encoded_tags="[]",
        encoded_errors=None,
        encoded_attempted_by=None,
        unique_key=None,
        unique_states=None,
    )
    assert job == expected
    assert job.args == {"a": 1}
    assert stored(driver, job) == job


@every_library
def test_every_option_reaches_its_column(driver: Driver, application: Any) -> None:
    """Keywords and an options object mean the same, whichever library runs the statement."""
    options = InsertOpts(
        max_attempts=3,
        priority=4,
        queue="mail",
        scheduled_at=MOMENT,
        tags=["one", "two"],
        metadata={"k": "é<"},
    )
    client = Client(driver)
    keywords: dict[str, Any] = {name: getattr(options, name) for name in InsertOpts.__dataclass_fields__}
    own = [client.insert(ARGS, options).job, client.insert(ARGS, **keywords).job]
    with join(application):
        joined = client.insert(ARGS, options).job
    application.commit()
    assert stored(driver, joined) == joined
    for job in (*own, joined):
        assert (job.max_attempts, job.priority, job.queue) == (3, 4, "mail")
        assert (job.state, job.tags, job.metadata) == (JobState.SCHEDULED, ["one", "two"], {"k": "é<"})
        assert abs(job.scheduled_at - MOMENT) < timedelta(milliseconds=1)


def test_options_of_the_call_go_before_those_of_the_class(driver: Driver) -> None:
    """Checklist 18. Tags replace, metadata merges; `pending` and `state` of the class do not count."""
    own = InsertOpts(
        max_attempts=3, priority=2, queue="own", tags=["own"], metadata={"own": 1, "both": 1}, pending=True
    )
    client = Client(driver, max_attempts=7, queue="client")
    by_class = client.insert(ArgsWithOptions(own)).job
    assert (by_class.max_attempts, by_class.priority, by_class.queue) == (3, 2, "own")
    assert (by_class.tags, by_class.metadata, by_class.state) == (
        ["own"],
        {"own": 1, "both": 1},
        JobState.AVAILABLE,
    )
    by_call = client.insert(
        ArgsWithOptions(own), max_attempts=9, priority=4, queue="call", tags=[], metadata={"both": 2}
    ).job
    assert (by_call.max_attempts, by_call.priority, by_call.queue) == (9, 4, "call")
    assert (by_call.tags, by_call.metadata) == ([], {"own": 1, "both": 2})
    by_client = client.insert(ARGS).job
    assert (by_client.max_attempts, by_client.queue) == (7, "client")


@pytest.mark.parametrize("delay", [timedelta(hours=1), timedelta(hours=-1)])
def test_a_given_time_makes_a_scheduled_job(driver: Driver, delay: timedelta) -> None:
    """Checklist 23. Also one in the past, as River for Go does."""
    job = Client(driver).insert(ARGS, scheduled_at=datetime.now(UTC) + delay).job
    assert job.state is JobState.SCHEDULED


def test_a_time_in_another_zone_is_the_same_instant(driver: Driver) -> None:
    """Checklist 31. It is stored and given back in UTC."""
    there = MOMENT.astimezone(timezone(timedelta(hours=-5)))
    job = Client(driver).insert(ARGS, scheduled_at=there).job
    assert abs(job.scheduled_at - MOMENT) < timedelta(milliseconds=1)
    assert job.scheduled_at.tzinfo is UTC


@pytest.mark.parametrize("state", [JobState.AVAILABLE, JobState.PENDING, JobState.SCHEDULED])
def test_an_explicit_initial_state_is_kept(driver: Driver, state: JobState) -> None:
    """Also `available` together with a time, which is how a short delay is written."""
    job = Client(driver).insert(ARGS, state=state, scheduled_at=MOMENT).job
    assert job.state is state
    assert abs(job.scheduled_at - MOMENT) < timedelta(milliseconds=1)


def test_pending_keeps_the_given_time(driver: Driver) -> None:
    """Checklist 23. The option goes before what the time would make of the state."""
    job = Client(driver).insert(ARGS, pending=True, scheduled_at=MOMENT).job
    assert job.state is JobState.PENDING
    assert abs(job.scheduled_at - MOMENT) < timedelta(milliseconds=1)


def test_the_clock_of_a_test_replaces_the_databases(driver: Driver) -> None:
    """Both times come from it, to the precision that the database keeps."""
    job = Client(driver, clock=FixedClock()).insert(ARGS).job
    assert job.created_at == job.scheduled_at
    assert abs(job.created_at - MOMENT) < timedelta(milliseconds=1)


@every_library
def test_numbers_and_text_of_arguments_stay_as_written(driver: Driver, application: Any) -> None:
    """No float comes between: digits beyond 64 bits and trailing zeros survive."""
    text = '{"big":123456789012345678901234567890,"exact":1.10,"huge":1e400,"text":"é\\u2028\\"\\\\u0000"}'
    job = Client(driver).insert_tx(application, EncodedArgs("some_kind", text)).job
    application.commit()
    assert stored(driver, job) == job
    assert '"big":123456789012345678901234567890' in job.encoded_args.replace(": ", ":")
    assert '"exact":1.10' in job.encoded_args.replace(": ", ":")
    assert job.args["text"] == 'é\u2028"\\u0000'


@every_library
def test_insert_many_gives_one_result_each_in_order(driver: Driver, application: Any) -> None:
    """Checklist 26. Single differences of a batch do not mix."""
    jobs = [
        InsertManyParams(
            EncodedArgs(f"kind_{number}", f'{{"n":{number}}}'), InsertOpts(priority=1 + number % 4)
        )
        for number in range(50)
    ]
    jobs[7] = replace(jobs[7], insert_opts=InsertOpts(tags=["a-tag", "x_y"], metadata={"m": [1, None]}))
    jobs[8] = replace(jobs[8], insert_opts=InsertOpts(scheduled_at=MOMENT))
    results = Client(driver).insert_many_tx(application, jobs)
    application.commit()
    assert [result.job.kind for result in results] == [job.args.kind for job in jobs]
    assert [result.job.args["n"] for result in results] == list(range(50))
    assert [result.job.priority for result in results[:4]] == [1, 2, 3, 4]
    assert (results[7].job.tags, results[7].job.metadata) == (["a-tag", "x_y"], {"m": [1, None]})
    assert results[8].job.state is JobState.SCHEDULED
    assert abs(results[8].job.scheduled_at - MOMENT) < timedelta(milliseconds=1)
    ids = [result.job.id for result in results]
    assert ids == sorted(set(ids))
    assert [stored(driver, result.job) for result in results] == [result.job for result in results]
    assert not any(result.unique_skipped_as_duplicate for result in results)


def test_an_empty_batch_is_refused(driver: Driver) -> None:
    """Checklist 27. As in all of River's clients."""
    for insert in (Client(driver).insert_many, Client(driver).insert_params):
        with pytest.raises(ValidationError, match="no jobs to insert"):
            insert([])


REFUSED = [
    ({"max_attempts": -1}, "max_attempts"),
    ({"max_attempts": 32768}, "32768"),
    ({"max_attempts": True}, "True"),
    ({"priority": 5}, "priority"),
    ({"priority": -1}, "priority"),
    ({"priority": "1"}, "priority"),
    ({"queue": "A"}, "'A'"),
    ({"queue": "a" * 65}, "64 characters"),
    ({"queue": "a\n"}, "queue"),
    ({"tags": ["ab1", "a,b"]}, "'a,b'"),
    ({"tags": "abc"}, "list"),
    ({"metadata": [1]}, "metadata"),
    ({"metadata": {"a": float("nan")}}, "nan"),
    ({"metadata": {"a": "\x00"}}, "NUL"),
    ({"scheduled_at": datetime(2026, 1, 1)}, "time zone"),  # noqa: DTZ001 - a naive time is the point
    ({"scheduled_at": 5}, "datetime"),
    ({"state": JobState.RUNNING}, "running"),
    ({"state": "completed"}, "completed"),
    ({"no_such_option": 1}, "no_such_option"),
]


@pytest.mark.parametrize(("options", "part"), REFUSED, ids=[str(item[0])[:40] for item in REFUSED])
def test_a_bad_option_is_refused_before_anything_is_written(
    driver: Driver, options: dict[str, Any], part: str
) -> None:
    """The text names the value or the option; a batch with one bad job writes none.

    Checklist 19, 24, 26, 30, 31.
    """
    client = Client(driver)
    with pytest.raises(ValidationError, match=part):
        client.insert(ARGS, **options)
    if "no_such_option" not in options:
        with pytest.raises(ValidationError, match=part):
            client.insert_many([InsertManyParams(ARGS), InsertManyParams(ARGS, InsertOpts(**options))])
    assert count_jobs(driver) == 0


BAD_ARGS = ["null", "[]", "[1]", '"text"', "1", "{", "", '{"a":NaN}', '{"a":"\\u0000"}', '{"\\u0000":1}']
BAD_ARGS += ['{"a":"\\ud800"}', '{"a":["\\uDC00"]}', '{"a":"\ud800"}', "[" * 100_000]


@pytest.mark.parametrize("text", BAD_ARGS, ids=ascii)
def test_arguments_that_are_no_storable_object_are_refused(driver: Driver, text: str) -> None:
    """Other clients read arguments into structures, and Postgres stores neither NUL nor half pairs.

    Checklist 29, 30.
    """
    with pytest.raises(ValidationError, match="some_kind"):
        Client(driver).insert(EncodedArgs("some_kind", text))
    assert count_jobs(driver) == 0


@pytest.mark.parametrize("text", ['{"a":"\\\\u0000"}', '{"a":"\\ud83d\\ude00"}', '{"a":"\\\\ud800"}'])
def test_what_only_looks_like_such_a_character_is_stored(driver: Driver, text: str) -> None:
    """An escaped backslash before `u0000`, and a whole pair."""
    job = Client(driver).insert(EncodedArgs("some_kind", text)).job
    assert job.args == json.loads(text)


@pytest.mark.parametrize("kind", ["", "k" * 128, "a\x00b"])
def test_a_kind_that_the_database_refuses_is_refused_here(driver: Driver, kind: str) -> None:
    """1 to 127 characters without NUL."""
    with pytest.raises(ValidationError, match="kind"):
        Client(driver).insert(EncodedArgs(kind, "{}"))


def test_options_are_given_in_one_way(driver: Driver) -> None:
    """An object and keywords in one call contradict each other sooner or later."""
    with pytest.raises(ValidationError, match="not both: queue"):
        Client(driver).insert(ARGS, InsertOpts(priority=2), queue="mail")


def test_an_unknown_kind_is_refused_where_kinds_are_known(driver: Driver) -> None:
    """Checklist 28. Unless the client is told not to look, or has no registry."""
    registry = Registry().add("known_kind", lambda job: None)
    client = Client(driver, registry=registry)
    client.insert(EncodedArgs("known_kind", "{}"))
    with pytest.raises(UnknownJobKindError):
        client.insert(ARGS)
    with pytest.raises(UnknownJobKindError):
        client.insert_many([InsertManyParams(EncodedArgs("known_kind", "{}")), InsertManyParams(ARGS)])
    with pytest.raises(UnknownJobKindError):
        client.insert_params([InsertParams("some_kind", "{}")])
    Client(driver, registry=registry, skip_unknown_job_check=True).insert(ARGS)
    Client(driver).insert(ARGS)
    assert count_jobs(driver) == 3


@pytest.mark.parametrize("kind", ["ab", "a.b", "A<B>", "a·b", "a/b:c+d"])
def test_a_registered_kind_may_have_these_forms(kind: str) -> None:
    """Checklist 22. Word characters first, then also `-[]<>/.·:+`."""
    assert Registry().add(kind, lambda job: None).kinds() == (kind,)


@pytest.mark.parametrize("kind", ["a", "a b", "a,b", ".a", "ünï", "ab\n"])
def test_a_registered_kind_may_not_have_these(kind: str) -> None:
    """Checklist 22. They are found when the registry is built."""
    with pytest.raises(ConfigurationError, match="kind"):
        Registry().add(kind, lambda job: None)


@pytest.mark.parametrize("name", ["Mixed.Case", "a b", "é" * 127, "celery@host", "*"])
def test_a_lenient_client_takes_any_name_and_warns_once(
    driver: Driver, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Names of an old broker keep working; other clients' opinion is said once."""
    client = Client(driver, lenient_queue_names=True)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert client.insert(ARGS, queue=name).job.queue == name
        client.insert(ARGS, queue="plain")
    assert [record.__dict__["queue"] for record in caplog.records] == [name]


@pytest.mark.parametrize("name", ["é" * 128, "a\x00b"])
def test_a_lenient_client_refuses_what_the_database_does(driver: Driver, name: str) -> None:
    """At most 127 characters, and no NUL."""
    with pytest.raises(ValidationError, match="queue"):
        Client(driver, lenient_queue_names=True).insert(ARGS, queue=name)


@pytest.mark.parametrize("options", [{"queue": "A"}, {"max_attempts": 0}, {"max_attempts": 40000}])
def test_a_bad_default_is_found_when_the_client_is_made(driver: Driver, options: dict[str, Any]) -> None:
    """It would fail every insert."""
    with pytest.raises(ConfigurationError):
        Client(driver, **options)


@pytest.mark.foreign_rows
def test_under_parity_wide_attempts_are_stored_as_go_stores_them(driver: Driver) -> None:
    """Checklist 19. Cut to the column on Postgres, as they are on SQLite."""
    job = Client(driver, parity="go").insert(ARGS, max_attempts=40_000).job
    assert job.max_attempts == (32_767 if driver.sql.dialect is Dialect.POSTGRES else 40_000)
    assert stored(driver, job) == job


@pytest.mark.parametrize("name", ["max_attempts", "priority"])
def test_zero_means_not_given_in_options_alone(driver: Driver, name: str) -> None:
    """Checklist 19. A call's 0 is the default, as in Go; in a whole row it is refused."""
    client = Client(driver)
    given: dict[str, Any] = {name: 0}
    with pytest.raises(ValidationError, match=name):
        client.insert_params([InsertParams("some_kind", "{}"), InsertParams("some_kind", "{}", **given)])
    assert count_jobs(driver) == 0
    job = client.insert(ARGS, **given).job
    assert (job.max_attempts, job.priority) == (25, 1)


def test_rows_of_an_adapter_are_checked_too(driver: Driver) -> None:
    """All but their JSON, which the adapter has made; the database has the last word on that."""
    client = Client(driver)
    good = InsertParams("some_kind", "{}")
    for bad in (replace(good, priority=9), replace(good, queue="A"), replace(good, state=JobState.RUNNING)):
        with pytest.raises(ValidationError):
            client.insert_params([good, bad])
    for rows in ([replace(good, encoded_args="no json")], [good, replace(good, encoded_args="no json")]):
        with pytest.raises(RejectedValueError):
            client.insert_params(rows)
    assert count_jobs(driver) == 0
    assert client.insert_params([good])[0].job.kind == "some_kind"


def test_sqlite_rows_carry_a_nonce_that_readers_do_not_see(sqlite_driver: Driver) -> None:
    """River's other clients tell duplicates by it; each row has its own."""
    client = Client(sqlite_driver)
    jobs = [client.insert(ARGS, metadata={"a": 1}).job]
    jobs += [result.job for result in client.insert_many([InsertManyParams(ARGS), InsertManyParams(ARGS)])]
    assert [job.metadata for job in jobs] == [{"a": 1}, {}, {}]
    rows = fetch(sqlite_driver, "SELECT json(metadata) FROM river_job")
    nonces = {json.loads(row[0])["river:unique_nonce"] for row in rows}
    assert len(nonces) == 3
    assert all(len(nonce) == 16 and int(nonce, 16) >= 0 and nonce == nonce.lower() for nonce in nonces)


def test_sqlite_rows_hold_binary_json_and_times_of_23_characters(sqlite_driver: Driver) -> None:
    """The form that River's other clients read and write."""
    Client(sqlite_driver).insert(ARGS, tags=["abc"])
    Client(sqlite_driver).insert_many([InsertManyParams(ARGS, InsertOpts(scheduled_at=MOMENT))])
    assert fetch(sqlite_driver, FORMS) == [("blob", "blob", "blob", 23, 23, 0)] * 2
    times = fetch(sqlite_driver, "SELECT scheduled_at FROM river_job WHERE id = 2")
    assert times == [("2026-08-07 14:32:57.123",)]


def test_duplicates_of_a_unique_key_give_the_row_that_holds_it(driver: Driver) -> None:
    """The holder stays as it is, alone and in a batch; the flag tells it from a new row."""
    client = Client(driver)
    held = InsertParams("first_kind", "{}", unique_key=b"\x00k" * 16, unique_states=245)
    first = client.insert_params([held])[0]
    again = replace(held, kind="other_kind", priority=3)
    second = client.insert_params([again])[0]
    batch = client.insert_params([InsertParams("new_kind", "{}"), again, InsertParams("new_kind", "{}")])
    assert not first.unique_skipped_as_duplicate
    assert (first.job.unique_key, first.job.unique_states) == (b"\x00k" * 16, 245)
    assert (second.job, second.unique_skipped_as_duplicate) == (first.job, True)
    assert [result.unique_skipped_as_duplicate for result in batch] == [False, True, False]
    assert batch[1].job == first.job
    assert count_jobs(driver) == 3
