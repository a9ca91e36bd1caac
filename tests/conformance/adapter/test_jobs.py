"""River's scenarios of inserting, listing, cancelling and retrying jobs, in two adapters."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.conformance.adapter.scene import ECHO, Scene, is_worked_once

REJECTED = -32002
LARGE_ID = 2**53 + 1
BATCH = 6_000


# -- batches


def test_a_batch_fails_whole(scene: Scene) -> None:
    """Checklist 26, 27. Batch, Atomicity: an invalid job, a repeated key, exclude_kind alone leave no row."""
    unique = scene.echo("repeated", unique={"by_args": True})
    for jobs in (
        [],
        [scene.echo("first"), scene.echo("second", priority=99)],
        [unique, unique],
        [scene.echo("alone", unique={"exclude_kind": True})],
    ):
        assert scene.first.refuse("insert", jobs=jobs) == REJECTED
    assert scene.listed(scene.second) == []


def test_a_large_batch_comes_back_in_its_order(scene: Scene) -> None:
    """Checklist 26. Batch, LargeBatchOrder."""
    jobs = [scene.echo(f"large {index}", metadata={"index": index}) for index in range(BATCH)]
    results = scene.insert_many(scene.first, jobs)
    assert [result["job"]["metadata"]["index"] for result in results] == list(range(BATCH))
    ids = [result["job"]["id"] for result in results]
    assert ids == sorted(ids)


def test_results_flag_duplicates_in_their_place(scene: Scene) -> None:
    """Batch, Results."""
    unique = scene.echo("duplicate", unique={"by_args": True})
    existing = scene.insert_many(scene.second, [unique])[0]["job"]
    first = scene.echo("first", metadata={"index": 0}, priority=2, tags=["typed_batch"])
    results = scene.insert_many(scene.first, [first, unique, scene.echo("pending", pending=True)])
    assert [result["unique_skipped_as_duplicate"] for result in results] == [False, True, False]
    assert results[1]["job"] == existing
    assert results[2]["job"]["state"] == "pending"
    for result in results:
        assert scene.both(result["job"]["id"]) == result["job"]
    assert existing["unique_states"] == [
        "available",
        "completed",
        "pending",
        "retryable",
        "running",
        "scheduled",
    ]
    assert len(existing["unique_key"]) == 64


# -- transactions


@pytest.mark.parametrize("commit", [False, True])
def test_rows_are_seen_after_the_commit_only(scene: Scene, commit: bool) -> None:
    """Transactions, Visibility: inside at once, outside after the commit, never after a roll-back."""
    tx = {"tx": "visible"}
    scene.first.call("tx_begin", **tx)
    [single] = scene.insert_many(scene.first, [scene.echo("single", tags=["seen"])], **tx)
    batch = [scene.echo(str(number), priority=number, tags=["seen"]) for number in (2, 3)]
    scene.insert_many(scene.first, batch, **tx)
    job_id = single["job"]["id"]
    assert scene.listed(scene.first, ids=[job_id], **tx) == [single["job"]]
    assert scene.first.call("cancel", id=job_id, **tx)["state"] == "cancelled"
    retried = scene.first.call("retry", id=job_id, **tx)
    assert retried["state"] == "available"
    assert scene.listed(scene.second, tags_all=["seen"]) == []
    assert scene.first.call("tx_end", commit=commit, **tx) == {}
    after = scene.listed(scene.second, tags_all=["seen"])
    assert [job["priority"] for job in after] == ([1, 2, 3] if commit else [])
    assert after[:1] == ([retried] if commit else [])


def test_a_refused_insert_leaves_its_transaction_usable_or_to_roll_back(scene: Scene) -> None:
    """Transactions, Visibility: on Postgres it is rolled back, on SQLite it may be committed."""
    scene.first.call("tx_begin", tx="invalid")
    jobs = [scene.echo("kept out"), scene.echo("invalid", priority=99)]
    assert scene.first.refuse("insert", jobs=jobs, tx="invalid") == REJECTED
    assert scene.first.refuse("insert", jobs=[], tx="invalid") == REJECTED
    assert scene.first.call("tx_end", tx="invalid", commit=not scene.is_postgres) == {}
    assert scene.listed(scene.second) == []


@pytest.mark.postgres
def test_a_handle_is_gone_even_if_its_commit_fails(on_postgres: Scene) -> None:
    """Its connection was cut; the adapter says so and goes on."""
    scene = on_postgres
    scene.first.call("tx_begin", tx="cut")
    scene.insert_many(scene.first, [scene.echo("lost")], tx="cut")
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = @name::text"
    scene.execute(cut, name=scene.first.application_name)
    assert scene.first.refuse("tx_end", tx="cut", commit=True) == REJECTED
    assert scene.first.refuse("tx_end", tx="cut") == -32001
    assert scene.listed(scene.first) == []


def test_a_cancellation_counts_at_the_commit(scene: Scene) -> None:
    """Transactions, Cancel."""
    job = scene.insert(scene.second, "cancelled in a transaction")
    scene.first.call("tx_begin", tx="cancel")
    assert scene.first.call("cancel", id=job["id"], tx="cancel")["state"] == "cancelled"
    assert scene.read(scene.second, job["id"])["state"] == "available"
    scene.first.call("tx_end", tx="cancel", commit=True)
    assert scene.read(scene.second, job["id"])["state"] == "cancelled"


# -- single jobs


def test_one_inserts_and_the_other_works(scene: Scene) -> None:
    """Jobs, InsertThenWork."""
    job = scene.insert(scene.first, "insert then work")
    assert job["args"] == {"behavior": "", "duration_ms": 0, "message": "insert then work"}
    assert list(job["args"]) == ["behavior", "duration_ms", "message"] or scene.is_postgres
    assert (job["state"], job["kind"], job["attempt"], job["max_attempts"]) == ("available", ECHO, 0, 25)
    worked = scene.work_one(scene.second, "insert-then-work", job["id"])
    assert is_worked_once(worked, "insert-then-work")
    assert worked["attempted_at"]
    assert worked["finalized_at"]


def test_one_cancels_and_the_other_retries(scene: Scene) -> None:
    """Jobs, JobControl: as in Go the mark of the cancellation stays."""
    job = scene.insert(scene.first, "control", priority=3, tags=["all_jobs", "control"], metadata={"a": "b"})
    assert scene.listed(scene.second, ids=[job["id"]], tags_all=["control", "all_jobs"]) == [job]
    cancelled = scene.first.call("cancel", id=job["id"])
    assert (cancelled["state"], cancelled["metadata"]["a"]) == ("cancelled", "b")
    assert scene.both(job["id"]) == cancelled
    assert scene.first.call("cancel", id=job["id"]) == cancelled
    retried = scene.second.call("retry", id=job["id"])
    assert (retried["state"], retried["finalized_at"]) == ("available", None)
    assert retried["metadata"] == cancelled["metadata"]
    assert scene.both(job["id"]) == retried
    assert scene.second.call("retry", id=job["id"]) == retried


@pytest.mark.parametrize(
    ("behavior", "attempts", "state", "expected"),
    [("error", 1, "discarded", 2), ("cancel", 3, "cancelled", 3)],
)
def test_a_retry_gives_an_attempt_where_none_is_left(
    scene: Scene, behavior: str, attempts: int, state: str, expected: int
) -> None:
    """Jobs, ExhaustedRetry."""
    job = scene.insert(scene.first, "exhausted", behavior, max_attempts=attempts)
    finished = scene.work_one(scene.first, "exhausted", job["id"])
    assert (finished["state"], finished["attempt"]) == (state, 1)
    retried = scene.second.call("retry", id=job["id"])
    assert (retried["state"], retried["attempt"], retried["max_attempts"]) == ("available", 1, expected)
    assert len(retried["errors"]) == 1
    assert retried["finalized_at"] is None
    assert retried["scheduled_at"] > finished["scheduled_at"]


@pytest.mark.parametrize(
    ("behavior", "state", "event"),
    [
        ("barrier_output", "completed", "job_completed"),
        ("barrier_output", "discarded", "job_failed"),
        ("barrier_wait", "completed", "job_completed"),
    ],
)
def test_a_row_that_somebody_else_finished_keeps_its_state(
    scene: Scene, behavior: str, state: str, event: str
) -> None:
    """Checklist 162. Jobs, ExternalCompletionRace: output is merged and the event is that of the row."""
    scene.start(scene.first, "completion-race", max_workers=1)
    job = scene.insert(scene.second, f"race {state} {behavior}", behavior, metadata={"shared": "external"})
    scene.wait(job["id"], "running")
    cast = "::text::river_job_state" if scene.is_postgres else ""
    finish = f"UPDATE river_job SET state = @state{cast}, finalized_at = {scene.now} WHERE id = @id"
    scene.execute(finish, state=state, id=job["id"])
    external = scene.both(job["id"])
    scene.first.call("release", name=job["args"]["message"])
    stats = scene.wait_stats(scene.first, lambda seen: bool(seen["events"]))
    assert stats["events"] == [event]
    after = scene.both(job["id"])
    output = {"output": {"race": "worker"}} if behavior == "barrier_output" else {}
    assert after == external | {"metadata": external["metadata"] | output}


def test_ids_beyond_a_float_are_exact(scene: Scene) -> None:
    """Jobs, LargeIDs: read, listed, paged and cancelled."""
    ids = [scene.put(job_id=LARGE_ID), scene.put(job_id=LARGE_ID + 1)]
    assert ids == [LARGE_ID, LARGE_ID + 1]
    page = scene.first.call("list", ids=ids, limit=1)
    assert page == scene.second.call("list", ids=ids, limit=1)
    assert [job["id"] for job in page["jobs"]] == ids[:1]
    following = scene.listed(scene.second, ids=ids, limit=1, after=page["cursor"])
    assert [job["id"] for job in following] == ids[1:]
    assert scene.first.call("cancel", id=LARGE_ID)["id"] == LARGE_ID


NUMBERS = (
    '{"negative":-9223372036854775808,"big":123456789012345678901234567890,"beyond_float":1e400,'
    '"long_decimal":0.1000000000000000055511151231257827,"plain":1.50}'
)


def test_numbers_survive_what_a_runtime_writes(scene: Scene) -> None:
    """Checklist 164. Jobs, LargeNumbers: output, a snooze and a cancellation leave every digit."""
    ids = [
        scene.put(behavior=name, metadata=NUMBERS) for name in ("output", "snooze_once", "cooperative_cancel")
    ]
    before = [scene.listed(scene.second, ids=[job_id])[0]["metadata"] for job_id in ids]
    scene.start(scene.first, "large-numbers", max_workers=3)
    scene.wait(ids[2], "running")
    scene.second.call("cancel", id=ids[2])
    for job_id, metadata in zip(ids, before, strict=True):
        after = scene.wait(job_id)["metadata"]
        assert {key: after[key] for key in metadata} == metadata
        assert after.keys() > metadata.keys()
    assert before[0]["big"] == 123456789012345678901234567890
    assert before[0]["long_decimal"] == "0.1000000000000000055511151231257827"


def test_numbers_of_a_request_are_stored_as_they_are(scene: Scene) -> None:
    """Checklist 164. Metadata come back with the digits that were sent."""
    opts = '"opts":{"metadata":' + NUMBERS + "}"
    line = '{"jsonrpc":"2.0","id":5,"method":"insert","params":{"jobs":[{"message":"n",' + opts + "}]}}"
    answer = scene.first.exchange(line)
    metadata = answer["result"]["results"][0]["job"]["metadata"]
    assert metadata["long_decimal"] == "0.1000000000000000055511151231257827"
    assert metadata["big"] == 123456789012345678901234567890
    assert metadata["negative"] == -(2**63)
    assert metadata["plain"] == "1.50"


@pytest.mark.postgres
def test_more_attempts_than_the_column_holds_are_cut(on_postgres: Scene) -> None:
    """Jobs, WideIntegers on Postgres."""
    scene = on_postgres
    jobs = [scene.echo("clamped", max_attempts=40_000), scene.echo("narrow", max_attempts=7)]
    inserted = [result["job"] for result in scene.insert_many(scene.first, jobs)]
    assert [job["max_attempts"] for job in inserted] == [32_767, 7]
    for job in inserted:
        assert scene.both(job["id"]) == job
    worked = scene.work_one(scene.second, "wide", inserted[0]["id"])
    assert (worked["state"], worked["attempt"], worked["max_attempts"]) == ("completed", 1, 32_767)


@pytest.mark.foreign_rows
def test_wide_attempts_are_stored_worked_and_retried_on_sqlite(on_sqlite: Scene) -> None:
    """Checklist 60. Jobs, WideIntegers on SQLite."""
    scene = on_sqlite
    inserted = scene.insert(scene.first, "wide", max_attempts=40_000)
    assert scene.both(inserted["id"])["max_attempts"] == 40_000
    worked = scene.work_one(scene.second, "wide", inserted["id"])
    assert (worked["state"], worked["attempt"], worked["max_attempts"]) == ("completed", 1, 40_000)
    completing = scene.put(attempt=40_000, max_attempts=40_001)
    failing = scene.put(behavior="error", attempt=40_000, max_attempts=40_002)
    scene.start(scene.second, "wide", max_workers=2, retry_delay_ms=60_000)
    completed, retryable = scene.wait(completing), scene.wait(failing, "retryable")
    scene.second.call("stop")
    assert (completed["state"], completed["attempt"]) == ("completed", 40_001)
    assert (retryable["attempt"], retryable["max_attempts"]) == (40_001, 40_002)
    assert [error["attempt"] for error in retryable["errors"]] == [40_001]
    retried = scene.first.call("retry", id=failing)
    assert (retried["attempt"], retried["max_attempts"]) == (40_001, 40_002)
    discarded = scene.work_one(scene.second, "wide", failing)
    assert (discarded["state"], discarded["attempt"]) == ("discarded", 40_002)
    retried = scene.first.call("retry", id=failing)
    assert (retried["attempt"], retried["max_attempts"]) == (40_002, 40_003)
    assert [error["attempt"] for error in retried["errors"]] == [40_001, 40_002]


FULL_ERROR = (
    '{"at":"2026-01-02T04:04:06.123456789+01:00","attempt":3,"error":"failed \\"so\\"","trace":"one\\ntwo"}'
)
FULL = {
    "postgres": """
INSERT INTO river_job (args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind,
    max_attempts, metadata, priority, queue, scheduled_at, state, tags, unique_key, unique_states)
VALUES ('{"nested":{"enabled":true},"values":[1,"two",null]}', 3, '2026-01-02T03:04:06.123456Z',
    ARRAY['go-client','other'], '2026-01-02T03:04:05.6789Z', ARRAY[@error::text::jsonb],
    '2026-01-02T03:04:07.000001Z', 'full_row', 4,
    '{"river:rescue_count":2,"river:unique_nonce":"0011223344556677"}',
    2, 'priority_jobs', '2026-01-02T03:04:05.999999Z', 'discarded', ARRAY['alpha_tag','beta_tag'],
    decode(repeat('ab', 32), 'hex'), B'11110101') RETURNING id""",
    "sqlite": """
INSERT INTO river_job (args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind,
    max_attempts, metadata, priority, queue, scheduled_at, state, tags, unique_key, unique_states)
VALUES (jsonb('{"nested":{"enabled":true},"values":[1,"two",null]}'), 3, '2026-01-02 03:04:06.123',
    jsonb('["go-client","other"]'), '2026-01-02 03:04:05.678', jsonb('[' || @error || ']'),
    '2026-01-02 03:04:07.000', 'full_row', 4,
    jsonb('{"river:rescue_count":2,"river:unique_nonce":"0011223344556677"}'),
    2, 'priority_jobs', '2026-01-02 03:04:05.999', 'discarded', jsonb('["alpha_tag","beta_tag"]'),
    @key, 245) RETURNING id""",
}


def test_a_row_with_every_column_is_read_whole(scene: Scene) -> None:
    """Jobs, RowRoundTrip: without the nonce, in UTC, with the digits that are stored."""
    kind = "postgres" if scene.is_postgres else "sqlite"
    [(job_id,)] = scene.execute(FULL[kind], error=FULL_ERROR, key=bytes.fromhex("ab" * 32))
    micro = scene.is_postgres
    assert scene.both(job_id) == {
        "args": {"nested": {"enabled": True}, "values": [1, "two", None]},
        "attempt": 3,
        "attempted_at": "2026-01-02T03:04:06.123456Z" if micro else "2026-01-02T03:04:06.123Z",
        "attempted_by": ["go-client", "other"],
        "created_at": "2026-01-02T03:04:05.6789Z" if micro else "2026-01-02T03:04:05.678Z",
        "errors": [
            {
                "at": "2026-01-02T03:04:06.123456789Z",
                "attempt": 3,
                "error": 'failed "so"',
                "trace": "one\ntwo",
            }
        ],
        "finalized_at": "2026-01-02T03:04:07.000001Z" if micro else "2026-01-02T03:04:07Z",
        "id": job_id,
        "kind": "full_row",
        "max_attempts": 4,
        "metadata": {"river:rescue_count": 2},
        "priority": 2,
        "queue": "priority_jobs",
        "scheduled_at": "2026-01-02T03:04:05.999999Z" if micro else "2026-01-02T03:04:05.999Z",
        "state": "discarded",
        "tags": ["alpha_tag", "beta_tag"],
        "unique_key": "ab" * 32,
        "unique_states": ["available", "completed", "pending", "retryable", "running", "scheduled"],
    }


TIMES = [
    ("2026-01-02T03:04:05.1234Z", "2026-01-02 03:04:05.123"),
    ("2026-01-02T03:04:05.1238Z", "2026-01-02 03:04:05.124"),
    ("2026-01-02T03:04:05.0004999Z", "2026-01-02 03:04:05.000"),
    ("2026-01-02T03:04:05.0005Z", "2026-01-02 03:04:05.001"),
    ("2026-01-02T04:04:05.9995+01:00", "2026-01-02 03:04:06.000"),
    ("1969-12-31T23:59:59.9995Z", "1970-01-01 00:00:00.000"),
    ("1969-12-31T23:59:59.9975Z", "1969-12-31 23:59:59.998"),
]


def test_times_are_rounded_to_milliseconds_on_sqlite(on_sqlite: Scene) -> None:
    """Jobs, SQLiteTimestamps: half up, before 1970 too, carried into the second, and sorted as text."""
    scene = on_sqlite
    stored: list[tuple[str, int]] = []
    for moment, expected in TIMES:
        job = scene.insert(scene.first, "timestamp", scheduled_at=moment)
        [(raw,)] = scene.execute("SELECT scheduled_at FROM river_job WHERE id = @id", id=job["id"])
        assert raw == expected
        assert scene.both(job["id"])["scheduled_at"] == shortest(expected)
        stored.append((raw, job["id"]))
    listed = scene.listed(scene.second, order_by="scheduled_at", states=["scheduled"])
    assert [job["id"] for job in listed] == [job_id for _, job_id in sorted(stored)]


def shortest(stored: str) -> str:
    """The RFC 3339 form of a stored time."""
    return stored.replace(" ", "T").rstrip("0").rstrip(".") + "Z"


# -- lists


CURSOR_KIND = "conformance_cursor<>&~~~"


def test_cursors_are_exchanged(scene: Scene) -> None:
    """List, CursorInterchange: the same text on both sides, and either goes on from it."""
    ids: dict[str, list[int]] = {ECHO: [], CURSOR_KIND: []}
    for number in (1, 2, 3):
        moment = f"2099-01-01T00:00:0{number}.{number}2Z"
        ids[ECHO].append(scene.insert(scene.first, f"cursor {number}", scheduled_at=moment)["id"])
        ids[CURSOR_KIND].append(scene.put(kind=CURSOR_KIND))

    def check(kind: str, order_by: str, expected: list[int], states: list[str]) -> None:
        for direction, wanted in (("asc", expected), ("desc", expected[::-1])):
            params: dict[str, Any] = {"direction": direction, "kinds": [kind], "limit": 2}
            params |= {"order_by": order_by, "states": states}
            page = scene.first.call("list", **params)
            assert page == scene.second.call("list", **params)
            assert [job["id"] for job in page["jobs"]] == wanted[:2]
            assert ("-" in page["cursor"]) or kind == ECHO
            after = scene.listed(scene.second, after=page["cursor"], **params)
            assert [job["id"] for job in after] == wanted[2:]

    check(ECHO, "id", ids[ECHO], [])
    check(ECHO, "scheduled_at", ids[ECHO], ["scheduled"])
    check(ECHO, "time", ids[ECHO], ["scheduled"])
    check(CURSOR_KIND, "id", ids[CURSOR_KIND], [])
    for job_id in (*ids[ECHO], *ids[CURSOR_KIND]):
        scene.first.call("cancel", id=job_id)
    for kind in ids:
        check(kind, "finalized_at", ids[kind], ["cancelled"])
        check(kind, "time", ids[kind], ["cancelled"])
    one, two, three = ids[ECHO]
    scene.first.call("retry", id=two)
    check(ECHO, "time", [one, three, two], ["cancelled", "available"])
    check(ECHO, "time", [two, one, three], ["available", "cancelled"])
    scene.first.call("retry", id=three)
    check(ECHO, "time", [one, two, three], ["cancelled", "available"])


def test_filters_agree(scene: Scene) -> None:
    """List, Filters: metadata by containment on Postgres, as in Go."""
    metadata = {"writer": "first", "nested": {"a": 1, "b": 2}}
    ids = [
        scene.insert(
            scene.first,
            f"page {n}",
            metadata=metadata,
            priority=n,
            scheduled_at=f"2099-01-01T00:00:0{n}Z",
            tags=["paged"],
        )["id"]
        for n in (1, 2, 3)
    ]
    scene.insert(scene.first, "left out")
    params: dict[str, Any] = {
        "direction": "desc",
        "limit": 2,
        "order_by": "scheduled_at",
        "priorities": [1, 2, 3],
    }
    params |= {"queues": ["default"], "states": ["scheduled"], "tags_all": ["paged"]}
    params["metadata"] = {"nested": {"a": 1}} if scene.is_postgres else {"writer": "first"}
    page = scene.first.call("list", **params)
    assert page == scene.second.call("list", **params)
    assert [job["id"] for job in page["jobs"]] == [ids[2], ids[1]]
    assert [job["id"] for job in scene.listed(scene.second, **params, after=page["cursor"])] == [ids[0]]
    assert scene.first.call("list", kinds=["nobody's"]) == {"cursor": None, "jobs": []}


# -- races


@pytest.mark.postgres
def test_the_loser_of_a_race_returns_the_winners_row(
    on_postgres: Scene, observer: psycopg.Connection[Any]
) -> None:
    """Checklist 94. Cancel, Race: its statement waits for the row and sees what was committed."""
    scene = on_postgres
    job = scene.insert(scene.first, "race", scheduled_at="2099-01-01T00:00:00Z")
    waiting = (
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND state = 'active' "
        "AND wait_event_type = 'Lock'"
    )
    for method in ("cancel", "retry"):
        scene.first.call("tx_begin", tx=method)
        won = scene.first.call(method, id=job["id"], tx=method)
        scene.second.start_call(method, id=job["id"])
        scene.until(
            "the loser's lock",
            lambda: observer.execute(waiting, [scene.second.application_name]).fetchone() == (1,),
        )
        scene.first.call("tx_end", tx=method, commit=True)
        assert scene.second.end_call() == won
        assert scene.both(job["id"]) == won
