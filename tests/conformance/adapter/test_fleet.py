"""River's scenarios of workers: cancellations, fleets, leaders, notifications, and what work leaves."""

from __future__ import annotations

import json
import time
from contextlib import closing
from datetime import datetime
from typing import Any

import pytest

from river_core.drivers.base import Listener
from river_core.notifier import TOPIC_LEADERSHIP
from tests.conformance.adapter.scene import ECHO, FAST, MINUTE, PEER, RENAMED, Scene, is_worked_once
from tests.conformance.listening import MARK, send
from tests.vectors import load

REMOTE = "JobCancelError: job cancelled remotely"
UNKNOWN = "job kind is not registered in the client's Workers bundle: "
TOPICS = ("river_control", "river_insert", "river_leadership")


def moment(job: dict[str, Any], column: str) -> datetime:
    """Return a time of a job; the texts, whose zeros at the end are cut, do not sort."""
    return datetime.fromisoformat(job[column])


def errors_of(job: dict[str, Any]) -> list[str]:
    """The texts of a job's errors."""
    return [error["error"] for error in job["errors"]]


# -- cancellations


def test_a_job_is_cancelled_between_its_claim_and_its_start(scene: Scene) -> None:
    """Checklist 94. Cancel, ClaimTime."""
    scene.start(scene.first, "claim-time", claim_barrier="claim", max_workers=1)
    job = scene.insert(scene.second, "claim time", "cooperative_cancel")
    assert scene.wait(job["id"], "running")["attempted_by"] == ["claim-time"]
    with heard(scene) as listener:
        assert scene.second.call("cancel", id=job["id"])["state"] == "running"
        assert [topic for topic, _ in listener.next()] == ["river_control"]
    other = scene.insert(scene.second, "seen by the listener meanwhile", queue="elsewhere")
    scene.first.call("queue", action="pause", name="default")  # heard after the cancellation, in order
    scene.wait_stats(scene.first, lambda stats: stats["events"] == ["queue_paused"])
    scene.first.call("release", name="claim")
    cancelled = scene.wait(job["id"])
    assert (cancelled["state"], cancelled["attempt"], errors_of(cancelled)) == ("cancelled", 1, [REMOTE])
    assert scene.first.call("stats")["cancelled_at_start"] == 1
    assert scene.both(other["id"])["state"] == "available"


def test_a_worker_that_only_polls_finds_jobs_and_cancellations(scene: Scene) -> None:
    """Checklist 94. Cancel, PollOnly."""
    scene.start(scene.first, "poll-only", poll_only=True, fetch_poll_interval_ms=50, max_workers=1)
    polled = scene.insert(scene.second, "polled")
    assert is_worked_once(scene.wait(polled["id"]), "poll-only")
    job = scene.insert(scene.second, "cancelled", "cooperative_cancel")
    scene.wait(job["id"], "running")
    scene.second.call("cancel", id=job["id"])
    cancelled = scene.wait(job["id"])
    assert (cancelled["state"], errors_of(cancelled)) == ("cancelled", [REMOTE])


def test_a_cancellation_reaches_a_worker_by_notification(scene: Scene) -> None:
    """Checklist 94, 95. Cancel, Remote: cancelled and not failed, and the mark stays as it was written."""
    scene.start(scene.first, "remote", fetch_poll_interval_ms=MINUTE, max_workers=1)
    job = scene.insert(scene.second, "remote cancel", "cooperative_cancel")
    scene.wait(job["id"], "running")
    mark = scene.second.call("cancel", id=job["id"])["metadata"]["cancel_attempted_at"]
    cancelled = scene.wait(job["id"])
    assert (cancelled["state"], cancelled["attempt"], errors_of(cancelled)) == ("cancelled", 1, [REMOTE])
    assert cancelled["metadata"] == {"cancel_attempted_at": mark}
    assert scene.wait_stats(scene.first, lambda stats: bool(stats["events"]))["events"] == ["job_cancelled"]


# -- fleets


def test_jobs_are_claimed_by_priority_time_and_id(scene: Scene) -> None:
    """Checklist 23, 58. Fleet, ClaimOrder: an explicit time in the past is stored as scheduled."""
    times = [(1, "03:30"), (4, "03:00"), (1, "03:00"), (3, "01:00"), (1, "02:00"), (1, "02:00")]
    ids = []
    for priority, minute in times:
        job = scene.insert(
            scene.first,
            "order",
            "sleep",
            duration_ms=5,
            priority=priority,
            scheduled_at=f"2026-01-01T00:{minute}Z",
        )
        assert job["state"] == "scheduled"
        ids.append(job["id"])
    scene.start(scene.second, "claim-order", max_workers=1)
    worked = sorted((scene.wait(job_id) for job_id in ids), key=lambda job: moment(job, "attempted_at"))
    assert all(is_worked_once(job, "claim-order") for job in worked)
    assert [ids.index(job["id"]) for job in worked] == [4, 5, 2, 0, 3, 1]


def test_two_workers_compete_and_no_job_runs_twice(scene: Scene) -> None:
    """Checklist 61. Fleet, Competition."""
    count = 150 if scene.is_postgres else 20
    for adapter, name in ((scene.first, "one"), (scene.second, "two")):
        scene.start(adapter, name, max_workers=4)
    for adapter in (scene.first, scene.second):
        scene.insert_many(adapter, [scene.echo(f"job {n}", "sleep", duration_ms=5) for n in range(count)])
    done = "SELECT count(*) FROM river_job WHERE state = 'completed'"
    scene.until("the last job", lambda: scene.execute(done)[0][0] == 2 * count)
    jobs = scene.listed(scene.first, limit=1000)
    assert all((job["attempt"], len(job["attempted_by"]), job["errors"]) == (1, 1, []) for job in jobs)
    assert {job["attempted_by"][0] for job in jobs} == {"one", "two"}


def unclaimed(scene: Scene, job_id: int) -> bool:
    """Whether a job was left alone."""
    job = scene.both(job_id)
    return (job["state"], job["attempt"], job["attempted_by"], job["errors"]) == ("available", 0, [], [])


def test_each_works_the_kind_that_it_knows(scene: Scene) -> None:
    """Checklist 66. Fleet, HeterogeneousFleet."""
    theirs = [scene.put(kind=ECHO) for _ in range(3)]
    own = [scene.put(kind=PEER) for _ in range(3)]
    scene.start(scene.first, "peers", fetch_only_known_kinds=True, max_workers=1, worker_kinds=[PEER])
    assert all(is_worked_once(scene.wait(job_id), "peers") for job_id in own)
    assert all(unclaimed(scene, job_id) for job_id in theirs)
    scene.start(scene.second, "echoes", fetch_only_known_kinds=True, max_workers=1, worker_kinds=[ECHO])
    own.append(scene.put(kind=PEER))
    theirs.append(scene.put(kind=ECHO))
    assert all(is_worked_once(scene.wait(job_id), "peers") for job_id in own)
    assert all(is_worked_once(scene.wait(job_id), "echoes") for job_id in theirs)


@pytest.mark.parametrize("known_only", [False, True])
def test_a_renamed_kind_works_jobs_of_its_old_name(scene: Scene, known_only: bool) -> None:
    """Checklist 66. Fleet, KindAlias."""
    old, new, unknown = (scene.put(kind=kind) for kind in (ECHO, RENAMED, PEER))
    scene.start(scene.first, "renamed", fetch_only_known_kinds=known_only, worker_kinds=[RENAMED])
    for job_id, kind in ((old, ECHO), (new, RENAMED)):
        worked = scene.wait(job_id)
        assert is_worked_once(worked, "renamed")
        assert worked["kind"] == kind
    if known_only:
        assert unclaimed(scene, unknown)


def test_a_kind_without_worker_fails_and_is_tried_again(scene: Scene) -> None:
    """Fleet, UnknownKind."""
    kind = "conformance_unregistered"
    discarded, retried = scene.put(kind=kind, max_attempts=1), scene.put(kind=kind, max_attempts=5)
    scene.start(scene.first, "unknown", max_workers=1)
    failed = scene.wait(discarded, "discarded")
    assert (failed["attempt"], errors_of(failed), failed["errors"][0]["trace"]) == (1, [UNKNOWN + kind], "")
    again = scene.wait(retried, "retryable")
    assert (again["attempt"], again["attempted_by"]) == (2, ["unknown", "unknown"])
    assert errors_of(again) == [UNKNOWN + kind] * 2


def test_a_leader_discards_stuck_jobs_of_unknown_kinds(scene: Scene) -> None:
    """Fleet, RescuerUnknownKind: the process that held both jobs was killed."""
    jobs = [
        scene.insert(scene.first, k, "sleep", duration_ms=MINUTE, max_attempts=3, queue="kinds")["id"]
        for k in "ab"
    ]
    scene.execute("UPDATE river_job SET kind = @kind WHERE id = @id", kind=PEER, id=jobs[1])
    with scene.third() as crashing:
        rest = {"leader_election_disabled": True, "queues": ["kinds"], "worker_kinds": [ECHO, PEER]}
        scene.start(crashing, "crasher", **rest)
        running = [scene.wait(job_id, "running") for job_id in jobs]
        crashing.kill()
    for job_id in jobs:
        scene.move(job_id, "attempted_at", 2)
    scene.start(
        scene.second,
        "rescuer",
        worker_kinds=[PEER],
        job_timeout_ms=1000,
        rescue_after_ms=1000,
        retry_delay_ms=MINUTE,
    )
    unknown, known = scene.wait(jobs[0], "discarded"), scene.wait(jobs[1], "retryable")
    for job in (unknown, known):
        assert (job["attempt"], job["attempted_by"], job["metadata"]) == (
            1,
            ["crasher"],
            {"river:rescue_count": 1},
        )
        assert [(e["attempt"], e["error"], e["trace"]) for e in job["errors"]] == [
            (1, "Stuck job rescued by JobRescuer", "")
        ]
    assert unknown["finalized_at"]
    assert unknown["scheduled_at"] == running[0]["scheduled_at"]
    assert known["scheduled_at"] > known["errors"][0]["at"]


# -- leaders


def test_a_client_without_elections_never_leads(scene: Scene) -> None:
    """Leadership, ElectionDisabled: it works what the leader of another queue inserts periodically."""
    scene.start(scene.first, "disabled", leader_election_disabled=True)
    job = scene.insert(scene.second, "marker")
    assert is_worked_once(scene.wait(job["id"]), "disabled")
    assert scene.term() is None
    scene.start(scene.second, "eligible", periodic_run_on_start=True, queues=["elsewhere"])
    assert scene.wait_term()[0] == "eligible"
    scene.wait_stats(scene.second, lambda stats: stats["periodic_starts"] == 1)
    [periodic] = scene.until(
        "the periodic job", lambda: [j for j in scene.listed(scene.first) if "periodic" in j["metadata"]]
    )
    assert periodic["args"]["message"] == "periodic run on start"
    assert periodic["metadata"] == {"periodic": True, "river:periodic_job_id": "conformance-periodic"}
    assert is_worked_once(scene.wait(periodic["id"]), "disabled")
    assert scene.first.call("stats")["periodic_starts"] == 0
    scene.second.call("stop")
    assert scene.term() is None


def test_a_unique_periodic_job_is_not_repeated_by_the_next_leader(scene: Scene) -> None:
    """The marker that is registered after it shows that its insert was tried."""
    for adapter, name, markers in ((scene.first, "one", 1), (scene.second, "two", 2)):
        scene.start(adapter, name, periodic_run_on_start=True, periodic_unique=True, queues=["elsewhere"])
        scene.until(
            "the markers", lambda m=markers: len(periodic_jobs(scene, "conformance-periodic-marker")) == m
        )
        adapter.call("stop")
    [unique] = periodic_jobs(scene, "conformance-periodic")
    assert unique["unique_key"]


def periodic_jobs(scene: Scene, periodic_id: str) -> list[dict[str, Any]]:
    """The jobs that one periodic job has inserted."""
    jobs = scene.listed(scene.first)
    return [job for job in jobs if job["metadata"].get("river:periodic_job_id") == periodic_id]


def test_leadership_moves_by_requests_and_stops(scene: Scene) -> None:
    """Leadership, Failover."""
    adapters = {"one": scene.first, "two": scene.second}
    for name, adapter in adapters.items():
        scene.start(adapter, name)
    term = scene.wait_term()
    for adapter in adapters.values():
        adapter.call("request_resign")
        term = scene.wait_term(term)
    leader = str(term[0])
    follower = "two" if leader == "one" else "one"
    adapters[leader].call("stop")
    term = scene.wait_term(term) or scene.wait_term(None)
    assert scene.until("the follower", lambda: (scene.term() or [""])[0] == follower)


def test_a_request_to_resign_counts_once_and_only_when_it_is_committed(scene: Scene) -> None:
    """Leadership, RequestResign."""
    scene.start(scene.first, "resigning")
    term = scene.wait_term()
    assert term[0] == "resigning"
    with heard(scene) as listener:
        for commit in (False, True):
            scene.second.call("tx_begin", tx="resign")
            scene.second.call("request_resign", tx="resign")
            scene.second.call("tx_end", tx="resign", commit=commit)
            if commit:
                scene.wait_term(term)
            requests = [p for topic, p in listener.next() if p.get("action") == "request_resign"]
            assert len(requests) == commit
            assert commit or scene.term() == term


# -- notifications


class Heard:
    """What River's topics said, as JSON, in order."""

    def __init__(self, scene: Scene, listener: Listener) -> None:
        self._scene = scene
        self._listener = listener

    def next(self) -> list[tuple[str, Any]]:
        """Return what was sent since the last call."""
        send(self._scene.driver, TOPIC_LEADERSHIP, MARK)
        found: list[tuple[str, Any]] = []
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for notification in self._listener.wait(1.0):
                if notification.payload == MARK:
                    return found
                found.append((notification.topic, json.loads(notification.payload)))
        raise AssertionError(f"the mark was not heard, only {found}")


class heard:  # noqa: N801 - used like a function
    """Listen to all topics for a block."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._closing = closing(scene.driver.listen(TOPICS))

    def __enter__(self) -> Heard:
        return Heard(self._scene, self._closing.__enter__())

    def __exit__(self, *error: object) -> None:
        self._closing.__exit__(*error)


def samples() -> dict[str, tuple[str, dict[str, Any]]]:
    """River's own notifications by name."""
    fixture = load("upstream/fixtures/protocol_values.json")["notifications"]
    return {item["name"]: (item["topic"], item["payload"]) for item in fixture}


def test_notifications_are_those_of_rivers_fixture(scene: Scene) -> None:
    """Checklist 52. Notifications, Payloads: none for a retry and a start, as in Go."""
    known = samples()

    def expected(name: str, **changes: Any) -> tuple[str, dict[str, Any]]:
        topic, payload = known[name]
        assert changes.keys() <= payload.keys()
        return topic, payload | changes

    adapter, queue = scene.first, "payloads"
    with heard(scene) as listener:
        job = scene.insert(adapter, "payloads", queue=queue)
        assert listener.next() == [expected("insert", queue=queue)]
        adapter.call("cancel", id=job["id"])
        assert listener.next() == [expected("cancel", job_id=job["id"], queue=queue)]
        time.sleep(0.15)  # longer than notifications of inserts are held back
        adapter.call("retry", id=job["id"])
        assert listener.next() == []
        scene.start(adapter, "payloads")
        term = scene.wait_term()
        assert listener.next() == []
        metadata = {"zeta": "z", "alpha": 1}
        adapter.call("queue", action="update", name="default", metadata=metadata)
        assert listener.next() == [expected("metadata_changed", metadata=metadata, queue="default")]
        for action in ("pause", "resume"):
            adapter.call("queue", action=action, name="default")
            assert listener.next() == [expected(action, queue="default")]
        adapter.call("request_resign")
        scene.wait_term(term)
        scene.until("the next term", scene.term)
        assert listener.next() == [expected("request_resign"), expected("resigned", leader_id="payloads")]
        adapter.call("stop")
        assert listener.next() == [expected("resigned", leader_id="payloads")]


def test_an_insert_wakes_a_worker_that_hardly_polls(scene: Scene) -> None:
    """Notifications, InsertWakeup and Transactional: after the commit only."""
    scene.start(scene.first, "woken", queues=["default", "marker"], fetch_poll_interval_ms=MINUTE)
    warm_up = scene.insert(scene.second, "warm-up")
    scene.wait(warm_up["id"])
    # Two queues: the limiter does not hear of a rollback, and holds the queue's next notification back.
    for queue, commit in (("default", False), ("marker", True)):
        scene.second.call("tx_begin", tx="wake")
        [result] = scene.insert_many(scene.second, [scene.echo("in a transaction", queue=queue)], tx="wake")
        scene.second.call("tx_end", tx="wake", commit=commit)
    assert is_worked_once(scene.wait(result["job"]["id"]), "woken")


def test_a_paused_queue_is_left_alone_until_it_is_resumed(scene: Scene) -> None:
    """Notifications, PauseResume and QueueUpdates: in a transaction, on its commit only."""
    scene.start(scene.first, "paused", queues=["default", "marker"], max_workers=1)
    scene.second.call("queue", action="pause", name="default")
    scene.wait_stats(scene.first, lambda stats: stats["events"] == ["queue_paused"])
    paused = scene.insert(scene.second, "paused")
    marker = scene.insert(scene.second, "marker", queue="marker")
    assert is_worked_once(scene.wait(marker["id"]), "paused")
    assert scene.both(paused["id"])["state"] == "available"
    for commit in (False, True):
        scene.second.call("tx_begin", tx="resume")
        scene.second.call("queue", action="resume", name="default", tx="resume")
        scene.second.call("tx_end", tx="resume", commit=commit)
        rows = scene.execute("SELECT paused_at IS NULL FROM river_queue WHERE name = 'default'")
        assert bool(rows[0][0]) is commit
    assert is_worked_once(scene.wait(paused["id"]), "paused")
    stats = scene.first.call("stats")["events"]
    assert [event for event in stats if event.startswith("queue_")] == ["queue_paused", "queue_resumed"]


def test_each_change_of_all_queues_gives_one_event(scene: Scene) -> None:
    """Notifications, QueueSubscriptionEvents: none for a repetition."""
    scene.start(scene.first, "subscriber", fetch_poll_interval_ms=MINUTE)
    expected: list[str] = []
    for action in ("pause", "pause", "resume", "resume", "pause", "resume"):
        scene.second.call("queue", action=action, name="*")
        event = f"queue_{action}d"
        if expected[-1:] != [event]:
            expected.append(event)
            scene.wait_stats(scene.first, lambda stats: len(stats["events"]) >= len(expected))
    assert scene.first.call("stats")["events"] == expected


# -- work


def test_attempted_by_keeps_the_last_hundred(scene: Scene) -> None:
    """Checklist 59. Work, AttemptedByHistory."""
    history = [f"earlier-{number:03}" for number in range(98)]
    job_id = scene.put(behavior="error", attempt=98, attempted_by=history, max_attempts=200)
    for number in range(3):
        history.append(f"history-{number}")
        scene.start(scene.first, history[-1], max_workers=1, retry_delay_ms=MINUTE)
        job = scene.wait(job_id, "retryable")
        scene.first.call("stop")
        assert job["attempt"] == 99 + number
        if number < 2:
            scene.second.call("retry", id=job_id)
    assert scene.both(job_id)["attempted_by"] == history[-100:]


RUNTIME_KEYS = {"cancel_attempted_at", "snoozes", "unique_key_conflict"}


def test_a_runtime_writes_only_rivers_keys(scene: Scene) -> None:
    """Work, ReservedMetadata: what others keep in the metadata survives."""
    keys = RUNTIME_KEYS | set(load("upstream/fixtures/protocol_values.json")["metadata_keys"].values())
    own = {"river:log": [{"attempt": 1, "log": "earlier"}], "user": "kept"}
    scene.start(scene.first, "reserved", max_workers=3)
    behaviors = {"output": "completed", "snooze_once": "completed", "cooperative_cancel": "cancelled"}
    ids = {b: scene.insert(scene.second, b, b, duration_ms=5, metadata=own)["id"] for b in behaviors}
    scene.wait(ids["cooperative_cancel"], "running")
    scene.second.call("cancel", id=ids["cooperative_cancel"])
    seen = {behavior: scene.wait(job_id) for behavior, job_id in ids.items()}
    assert {behavior: job["state"] for behavior, job in seen.items()} == behaviors
    for job in seen.values():
        assert job["metadata"].items() >= own.items()
        assert job["metadata"].keys() - own.keys() <= keys
    assert seen["output"]["metadata"]["output"] == {"message": "output"}
    assert seen["snooze_once"]["metadata"]["snoozes"] == 1


def test_a_resumable_job_goes_on_in_the_other_client(scene: Scene) -> None:
    """Work, ResumableCursor."""
    job_id = scene.insert(
        scene.first, "cursor", "resumable_cursor", max_attempts=3, metadata={"own": "kept"}
    )["id"]
    for number, adapter in enumerate((scene.first, scene.second, scene.first), start=1):
        scene.start(adapter, "resumable", max_workers=1, retry_delay_ms=MINUTE)
        job = scene.wait(job_id, "completed" if number == 3 else "retryable")
        adapter.call("stop")
        metadata = job["metadata"]
        assert (job["attempt"], metadata["own"], metadata["first_attempt"]) == (number, "kept", 1)
        if number == 1:
            assert metadata["river:resumable_step"] == "first"
            assert metadata["river:resumable_cursor"] == {"second": 7}
        else:
            assert (metadata["river:resumable_step"], metadata["cursor_observed"]) == ("second", 7)
            assert not metadata.get("river:resumable_cursor")
        if number < 3:
            scene.second.call("retry", id=job_id)
    assert errors_of(job) == ["retry with cursor", "retry after consuming cursor"]
    assert [error["trace"] for error in job["errors"]] == ["", ""]


def test_a_job_is_not_worked_before_its_time(scene: Scene) -> None:
    """Work, ScheduleBoundaries and Snooze: a short snooze stays available, a long one is scheduled."""
    scene.start(scene.first, "boundaries", max_workers=3)
    short = scene.insert(scene.second, "short", "snooze_once", duration_ms=300)["id"]
    long = scene.insert(scene.second, "long", "snooze_once", duration_ms=10_000)["id"]
    parked = scene.wait(long, "scheduled")
    assert (parked["attempt"], parked["errors"], parked["finalized_at"]) == (0, [], None)
    assert parked["metadata"]["snoozes"] == 1
    worked = scene.wait(short)
    assert (worked["state"], worked["attempt"], worked["errors"]) == ("completed", 1, [])
    assert moment(worked, "attempted_at") >= moment(worked, "scheduled_at")
    assert "job_snoozed" in scene.first.call("stats")["events"]


def test_an_error_handler_cancels_and_is_counted(scene: Scene) -> None:
    """The row is cancelled with the error's own text."""
    scene.start(scene.first, "handler", error_handler_cancel=True)
    job = scene.wait(scene.insert(scene.second, "fails", "error")["id"])
    assert (job["state"], errors_of(job)) == ("cancelled", ["conformance retryable error"])
    stats = scene.wait_stats(scene.first, lambda seen: bool(seen["events"]))
    assert (stats["error_handler_calls"], stats["events"]) == (1, ["job_cancelled"])


def test_a_barrier_may_be_released_before_anyone_waits(scene: Scene) -> None:
    """And a stop that cancels ends the jobs that wait at another one."""
    scene.start(scene.first, "barriers", max_workers=2)
    scene.first.call("release", name="open")
    job = scene.insert(scene.second, "open", "barrier_wait")
    assert is_worked_once(scene.wait(job["id"]), "barriers")
    waiting = scene.insert(scene.second, "closed", "barrier_wait")
    scene.wait(waiting["id"], "running")
    assert scene.first.call("stop", cancel=True) == {}
    assert scene.both(waiting["id"])["state"] == "available"


def test_an_unknown_behavior_and_a_time_out_fail_the_attempt(scene: Scene) -> None:
    """The job's own time-out reaches a job that waits."""
    scene.start(scene.first, "failing", job_timeout_ms=50, tuning=FAST)
    unknown = scene.insert(scene.second, "x", "juggle", max_attempts=1)["id"]
    slow = scene.insert(scene.second, "x", "sleep", duration_ms=MINUTE, max_attempts=1)["id"]
    assert errors_of(scene.wait(unknown, "discarded")) == ["unknown behavior 'juggle'"]
    assert errors_of(scene.wait(slow, "discarded")) == ["job timed out after 0.05s"]
