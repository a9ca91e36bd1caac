"""Rows that the adapter leaves, against those that Go left for the same steps.

`rows.json` and `rows_sqlite.json` were recorded with River 0.43; what newer River changed is amended here.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.conformance.adapter.scene import ECHO, MINUTE, PEER, Scene
from tests.vectors import load

RECORDED = {(item["group"], item["name"]): item for item in load("rows.json")["scenarios"]}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d*[1-9])?Z")
HOUR = 3600
SQLITE_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}")


def shape(job: dict[str, Any]) -> dict[str, Any]:
    """What two clients must agree on in a row, whatever kind, arguments and texts their jobs have."""
    errors = job["errors"] or []
    assert all(TIME.fullmatch(error["at"]) for error in errors)
    return {
        "state": job["state"],
        "attempt": job["attempt"],
        "max_attempts": job["max_attempts"],
        "priority": job["priority"],
        "tags": job["tags"],
        "attempts_with_errors": [error["attempt"] for error in errors],
        "traces": [error["trace"] for error in errors],
        "metadata": {key for key in job["metadata"] if key != "periodic"},
        "claims": len(job["attempted_by"] or []),
        "attempted": job["attempted_at"] is not None,
        "finalized": job["finalized_at"] is not None,
        "moved": job["scheduled_at"] != job["created_at"],
    }


def recorded_shape(group: str, name: str) -> dict[str, Any]:
    """The same of a recorded row."""
    row = RECORDED[group, name]["row"]
    times = {
        "attempted_at": "" if row["attempted_at_set"] else None,
        "finalized_at": "" if row["finalized_at_set"] else None,
        "scheduled_at": "created" if row["scheduled_at_equals_created_at"] else "moved",
        "created_at": "created",
    }
    errors = [{**error, "at": "2026-01-01T00:00:00Z"} for error in row["errors"] or []]
    return shape({**row, **times, "errors": errors})


OPTIONS = {"max_attempts": 3, "priority": 2, "tags": ["abc", "x-y"], "metadata": {"m": 1}}
WORKED: list[tuple[str, dict[str, Any], str]] = [
    ("complete", {"behavior": ""}, "completed"),
    ("complete, all options set", {"behavior": "", **OPTIONS}, "completed"),
    ("error on attempt 1", {"behavior": "error"}, "available"),
    ("exhausted, max_attempts 1", {"behavior": "error", "max_attempts": 1}, "discarded"),
    ("cancel from inside", {"behavior": "cancel"}, "cancelled"),
    ("snooze 2 s", {"behavior": "snooze_once", "duration_ms": 2000}, "available"),
    ("snooze 120 s", {"behavior": "snooze_once", "duration_ms": 120_000}, "scheduled"),
    ("output, object", {"behavior": "output"}, "completed"),
]


@pytest.mark.parametrize(("name", "request_", "state"), WORKED, ids=[item[0] for item in WORKED])
def test_worked_rows_are_gos(scene: Scene, name: str, request_: dict[str, Any], state: str) -> None:
    """Jobs, WorkedRows, and the events that Go gave."""
    scene.start(scene.second, "worked-rows", max_workers=1)
    options = dict(request_)
    job_id = scene.insert(scene.first, "a<b>&c d é\u2028", options.pop("behavior"), **options)["id"]
    stats = scene.wait_stats(scene.second, lambda seen: bool(seen["events"]))
    job = scene.both(job_id)
    assert shape(job) == recorded_shape("execution", name)
    assert [f"{event}:{state}" for event in stats["events"][:1]] == RECORDED["execution", name]["events"][:1]
    assert job["args"]["message"] == "a<b>&c d é\u2028"


def test_a_row_of_an_unknown_kind_is_gos(scene: Scene) -> None:
    """Error text and all."""
    recorded = RECORDED["execution", "unknown kind, max_attempts 1"]["row"]
    job_id = scene.put(kind=recorded["kind"], max_attempts=1)
    job = scene.work_one(scene.first, "unknown", job_id)
    assert [error["error"] for error in job["errors"]] == [error["error"] for error in recorded["errors"]]
    ours = shape(job) | {"moved": False}  # the two times of a row that was put by hand may differ
    assert ours == recorded_shape("execution", "unknown kind, max_attempts 1")


INSERTED: list[tuple[str, dict[str, Any]]] = [
    ("cancel while available", {}),
    ("cancel while scheduled", {"scheduled_at": "2099-01-01T00:00:00Z"}),
    ("cancel while pending", {"pending": True}),
]


@pytest.mark.parametrize(("name", "opts"), INSERTED, ids=[item[0] for item in INSERTED])
def test_cancelled_rows_are_gos(scene: Scene, name: str, opts: dict[str, Any]) -> None:
    """Jobs, InsertRows; a retry then keeps the mark as Go does."""
    job_id = scene.insert(scene.first, "x", **opts)["id"]
    cancelled = scene.first.call("cancel", id=job_id)
    assert cancelled["state"] == RECORDED["cancel by client", name]["returned_state"]
    assert shape(cancelled) == recorded_shape("cancel by client", name)
    assert TIME.fullmatch(cancelled["metadata"]["cancel_attempted_at"])
    retried = scene.second.call("retry", id=job_id)
    assert retried["metadata"] == cancelled["metadata"]


RESCUED = [
    ("stuck for 2 h, attempt 1 of 25", {}, "retryable"),
    ("stuck for 2 h, attempt 25 of 25", {"attempt": 25}, "discarded"),
    (
        "stuck for 2 h, cancellation asked for",
        {"metadata": '{"cancel_attempted_at":"2026-01-01T00:00:00Z"}'},
        "cancelled",
    ),
    ("stuck for 2 h, rescued twice before", {"metadata": '{"river:rescue_count":2}'}, "retryable"),
    ("stuck for 2 h, kind without a worker", {"kind": "never_registered"}, "discarded"),
]


@pytest.mark.parametrize(("name", "columns", "state"), RESCUED, ids=[item[0] for item in RESCUED])
def test_rescued_rows_are_gos(scene: Scene, name: str, columns: dict[str, Any], state: str) -> None:
    """RuntimeRows, rescue. In the recording the scheduler had made the short retry available already."""
    job_id = scene.put(**{"attempt": 1, "attempted_by": ["dead_client"], "state": "running", **columns})
    scene.execute(f"UPDATE river_job SET attempted_at = {scene.now} WHERE id = @id", id=job_id)
    scene.move(job_id, "attempted_at", 2 * HOUR)
    scene.start(scene.first, "rescuer", retry_delay_ms=MINUTE)
    job = scene.wait(job_id, state)
    expected = recorded_shape("rescue", name)
    recorded = RECORDED["rescue", name]["row"]
    if expected["state"] == "available":
        expected["state"] = "retryable"
    assert shape(job) | {"moved": expected["moved"]} == expected
    assert [error["error"] for error in job["errors"]] == [error["error"] for error in recorded["errors"]]
    assert job["metadata"]["river:rescue_count"] == recorded["metadata"]["river:rescue_count"]


def test_a_row_that_the_scheduler_discards_is_gos(scene: Scene) -> None:
    """Checklist 133. RuntimeRows, scheduler discard: a retry that meets a newer job with its unique key."""
    unique = {"by_args": True, "by_state": ["available", "pending", "running", "scheduled"]}
    scene.start(
        scene.first, "setup", leader_election_disabled=True, retry_delay_ms=MINUTE, queues=["discard"]
    )
    old = scene.insert(scene.first, "x", "error", queue="discard", unique=unique)["id"]
    scene.wait(old, "retryable")
    scene.first.call("stop")
    newer = scene.insert(scene.second, "x", "error", queue="discard", unique=unique)
    assert newer["id"] != old
    scene.move(old, "scheduled_at", 120)
    scene.start(scene.second, "scheduler", queues=["elsewhere"])
    job = scene.wait(old, "discarded")
    recorded = RECORDED["scheduler", "retryable job meets a newer job of the same unique key"]
    ours = {key: shape(job)[key] for key in ("state", "attempt", "metadata", "finalized", "moved")}
    theirs = recorded_shape("scheduler", "retryable job meets a newer job of the same unique key")
    assert ours == {key: theirs[key] for key in ours}
    assert job["metadata"]["unique_key_conflict"] == recorded["row"]["metadata"]["unique_key_conflict"]
    assert scene.both(newer["id"])["state"] == recorded["newer_row_state"]


SQLITE = {item["name"]: item["row"] for item in load("rows_sqlite.json")["rows"]}
COLUMNS = sorted(next(iter(SQLITE.values())).keys())


def raw(scene: Scene, job_id: int) -> dict[str, tuple[str, Any]]:
    """Storage class and value of each column, JSON as text."""
    json_columns = {"args", "attempted_by", "errors", "metadata", "tags"}
    selected = ", ".join(
        f"typeof({name}), {f'json({name})' if name in json_columns else name}" for name in COLUMNS
    )
    [row] = scene.execute(f"SELECT {selected} FROM river_job WHERE id = @id", id=job_id)
    return {name: (row[2 * index], row[2 * index + 1]) for index, name in enumerate(COLUMNS)}


def check_storage(scene: Scene, job_id: int, name: str) -> None:
    """Compare storage classes, forms of times and keys of metadata with a recorded row."""
    recorded = SQLITE[name]
    for column, (storage, value) in raw(scene, job_id).items():
        assert storage == recorded[column]["storage"], column
        if column.endswith("_at") and storage == "text":
            assert SQLITE_TIME.fullmatch(value), column  # three digits everywhere since River 0.44
    metadata = raw(scene, job_id)["metadata"][1]
    assert json.loads(metadata).keys() == json.loads(recorded["metadata"]["value"]).keys()
    nonce = json.loads(metadata)["river:unique_nonce"]
    assert re.fullmatch("[0-9a-f]{16}", nonce)
    assert raw(scene, job_id)["state"][1] == recorded["state"]["value"]


STORED: list[tuple[str, dict[str, Any]]] = [
    ("available, never worked", {"metadata": {"m": 1}}),
    ("scheduled in 1 h", {"scheduled_at": "2099-01-01T00:00:00Z"}),
    ("pending", {"pending": True}),
    ("unique by args", {"unique": {"by_args": True}}),
]


@pytest.mark.parametrize(("name", "opts"), STORED, ids=[item[0] for item in STORED])
def test_inserted_rows_are_stored_as_go_stores_them(
    on_sqlite: Scene, name: str, opts: dict[str, Any]
) -> None:
    """Jobs, InsertRows on SQLite: JSONB, times of 23 characters, key and mask."""
    scene = on_sqlite
    check_storage(scene, scene.insert(scene.first, "x", **opts)["id"], name)
    batch = [scene.echo("y", **{**opts, "metadata": None}), scene.echo("z")]
    [_, plain] = scene.insert_many(scene.first, batch)
    check_storage(scene, plain["job"]["id"], "inserted with InsertMany")


def test_a_cancelled_row_is_stored_as_go_stores_it(on_sqlite: Scene) -> None:
    """The nonce of the insert stays."""
    job_id = on_sqlite.insert(on_sqlite.first, "x")["id"]
    on_sqlite.first.call("cancel", id=job_id)
    check_storage(on_sqlite, job_id, "cancelled while available")


WORKED_ON_SQLITE: list[tuple[str, dict[str, Any], str]] = [
    ("complete", {"behavior": ""}, "completed"),
    ("error", {"behavior": "error"}, "available"),
    ("exhausted", {"behavior": "error", "max_attempts": 1}, "discarded"),
    ("cancel inside", {"behavior": "cancel"}, "cancelled"),
    ("snooze 120 s", {"behavior": "snooze_once", "duration_ms": 120_000}, "scheduled"),
    ("output", {"behavior": "output"}, "completed"),
]


@pytest.mark.parametrize(
    ("name", "request_", "state"), WORKED_ON_SQLITE, ids=[item[0] for item in WORKED_ON_SQLITE]
)
def test_worked_rows_are_stored_as_go_stores_them(
    on_sqlite: Scene, name: str, request_: dict[str, Any], state: str
) -> None:
    """Jobs, WorkedRows on SQLite."""
    scene = on_sqlite
    scene.start(scene.first, "c_sqlite", max_workers=1)
    options = dict(request_)
    job_id = scene.insert(scene.second, "x", options.pop("behavior"), **options)["id"]
    scene.wait_stats(scene.first, lambda seen: bool(seen["events"]))
    assert scene.both(job_id)["state"] == state
    check_storage(scene, job_id, name)
    assert raw(scene, job_id)["attempted_by"][1] == SQLITE[name]["attempted_by"]["value"]


def test_a_claimed_row_says_who_works_it(scene: Scene) -> None:
    """RuntimeRows, claim: nothing else in the row changes."""
    scene.start(scene.first, "claimer", worker_kinds=[ECHO, PEER])
    job = scene.insert(scene.second, "held row", "barrier_wait")
    running = scene.wait(job["id"], "running")
    changed = {key for key in running if running[key] != job[key]}
    assert changed == {"state", "attempt", "attempted_at", "attempted_by"}
    scene.first.call("release", name="held row")
    scene.wait(job["id"])
