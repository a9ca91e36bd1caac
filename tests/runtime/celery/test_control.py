"""Revokes, limits and questions on real workers; what a command does to rows and to what runs."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from datetime import datetime
from typing import Any

import pytest

from river_compat.celery import Celery
from river_compat.celery.exceptions import (
    ImproperlyConfigured,
    SoftTimeLimitExceeded,
    TaskRevokedError,
    UnsupportedFeature,
)
from river_compat.celery.remote_names import LIMITS
from river_compat.celery.signals import task_revoked
from river_compat.celery.worker.control import Panel, control_command, inspect_command
from river_core import Client
from river_core.db import cancelling
from river_core.drivers.base import Driver
from river_core.job import JobState
from river_core.standing import StandingRows
from tests.runtime.celery.conftest import Working
from tests.runtime.celery.rows import rows_of
from tests.runtime.workers import wait_for

WAIT = 60
KEYS = {
    *("id", "name", "args", "kwargs", "type", "hostname", "time_start", "acknowledged", "delivery_info"),
    "worker_pid",
}
"""What is told of a task, in Celery's names."""
ANSWERS = 60.0
"""Enough for a worker that answers; a call ends sooner when its `limit` is reached."""


@pytest.fixture
def ran(app: Celery) -> list[Any]:
    """What the tasks `note`, `hold` and `again` have done, in order; `hold` waits for its gate."""
    done: list[Any] = []
    gate = threading.Event()

    @app.task(shared=False, name="note")
    def note(value: Any) -> Any:
        done.append(value)
        return value

    @app.task(shared=False, name="hold")
    def hold() -> str:
        done.append("began")
        assert gate.wait(WAIT)
        return "held"

    @app.task(shared=False, name="again", bind=True, max_retries=5)
    def again(self: Any) -> None:
        done.append(self.request.retries)
        if not gate.is_set():
            gate.wait(WAIT)
        raise self.retry(countdown=0)

    app.finalize()
    app.gate = gate  # type: ignore[attr-defined]
    return done


def asked(app: Celery, **options: Any) -> Any:
    """Ask one worker; the call ends with its answer."""
    return app.control.inspect(timeout=ANSWERS, limit=1, **options)


def revoked(result: Any) -> bool:
    with pytest.raises(TaskRevokedError):
        result.get(timeout=WAIT)
    return bool(result.state == "REVOKED")


@pytest.mark.parametrize("options", [{}, {"countdown": 3600}])
def test_a_revoked_task_ends_without_any_worker(
    app: Celery, working: Working, ran: list[Any], options: dict[str, Any]
) -> None:
    """Row 12.1. Its state is REVOKED at once, and no worker runs it later."""
    result = app.tasks["note"].apply_async((1,), **options)
    result.revoke()
    assert (result.state, result.ready(), result.failed(), result.successful()) == (
        "REVOKED",
        True,
        False,
        False,
    )
    with working():
        assert app.tasks["note"].delay(2).get(timeout=WAIT) == 2
    assert ran == [2]


def test_an_id_is_revoked_before_anybody_sends_it(app: Celery, working: Working, ran: list[Any]) -> None:
    """Row 12.3. Heard by workers that are up, and read by those that start later."""
    app.control.revoke(["early", "earlier"])
    with working():
        first = app.tasks["note"].apply_async((1,), task_id="early")
        assert revoked(first)
        app.control.revoke("while-up")
        wait_for(lambda: "while-up" in asked(app).revoked().popitem()[1], "the worker to hear of it")
        assert revoked(app.tasks["note"].apply_async((2,), task_id="while-up"))
        assert set(asked(app).revoked().popitem()[1]) == {"early", "earlier", "while-up"}
    assert ran == []


def test_an_id_that_was_revoked_before_is_told_as_revoked(app: Celery, ran: list[Any]) -> None:
    """Row 12.1. Its state says so before anybody sends it, and waiting for it is in vain."""
    early, other = app.AsyncResult("early"), app.AsyncResult("other")
    app.control.revoke([early.id])
    assert (early.state, other.state) == ("REVOKED", "PENDING")
    assert revoked(early)
    assert [meta["status"] for _, meta in app.backend.get_many(["early", "other"])] == ["REVOKED"]


def test_a_revoke_between_two_attempts_ends_the_task(app: Celery, ran: list[Any]) -> None:
    """Row 12.4. The row of the retry has the same task id."""
    result = app.tasks["note"].apply_async((1,), retries=1, countdown=60)
    assert result.state == "RETRY"
    app.control.revoke(result.id)
    assert result.state == "REVOKED"


def test_a_task_that_is_revoked_while_it_runs_does_not_run_again(
    app: Celery, working: Working, ran: list[Any]
) -> None:
    """Rows 12.1, 12.4. It goes on; its retry ends it."""
    with working() as worker:
        result = app.tasks["again"].delay()
        wait_for(lambda: ran, "the start")
        result.revoke()
        [here] = worker.jobs_here()
        job = next(item.job for slots in worker._parts.slots for item in slots._running.values())  # type: ignore[union-attr]
        wait_for(lambda: job.stopped, "the word that it is revoked")
        app.gate.set()  # type: ignore[attr-defined]
        assert revoked(result)
    assert ran == [0]
    assert here.row.attempt == 1


def test_a_revoke_that_the_worker_has_not_heard_of_ends_the_retry(
    app: Celery, working: Working, driver: Driver, ran: list[Any]
) -> None:
    """Row 12.4. It is found in the row when the retry is written."""
    with working(concurrency=1):
        result = app.tasks["again"].delay()
        wait_for(lambda: ran, "the start")
        [row] = rows_of(app, result.id)
        with driver.connect() as connection:
            connection.fetch(
                cancelling.job_mark_cancelled_many(driver.sql, [row.id], "2026-08-07T14:32:57Z", None)
            )
        app.gate.set()  # type: ignore[attr-defined]
        assert revoked(result)
    assert ran == [0]


def test_terminate_ends_the_run_and_no_other(app: Celery, working: Working, ran: list[Any]) -> None:
    """Row 12.2. REVOKED, not FAILURE, and the worker works on."""
    with working(concurrency=1, pool="threads"):
        result = app.tasks["again"].delay()
        wait_for(lambda: ran, "the start")
        result.revoke(terminate=True)
        app.gate.set()  # type: ignore[attr-defined]
        assert revoked(result)
        assert app.tasks["note"].delay(2).get(timeout=WAIT) == 2
    assert ran == [0, 2]


def test_the_signal_of_a_revoke_is_sent_where_it_ends(app: Celery, working: Working, ran: list[Any]) -> None:
    """By the caller for a row that waits, once."""
    told: list[dict[str, Any]] = []

    def tell(sender: Any = None, **facts: Any) -> None:
        told.append({"task": sender.name, "id": facts["request"].id, "expired": facts["expired"]})

    task_revoked.connect(tell)
    try:
        result = app.tasks["note"].delay(1)
        result.revoke()
        result.revoke()
    finally:
        task_revoked.disconnect(tell)
    assert told == [{"task": "note", "id": result.id, "expired": False}]


def test_tasks_are_revoked_by_their_stamps(app: Celery, driver: Driver, ran: list[Any]) -> None:
    """Row 12.5. Only those with the stamp."""
    results = [app.tasks["note"].apply_async((n,), countdown=60) for n in range(3)]
    client = Client(driver)
    rows = client.job_list().jobs
    for row, stamp in zip(rows, ("a", "b", "a"), strict=True):
        client.job_update(row.id, metadata={"python_task_stamps": {"batch": [stamp]}})
    app.control.revoke_by_stamped_headers({"batch": "a"})
    assert [result.state for result in results] == ["REVOKED", "PENDING", "REVOKED"]


def test_a_purge_leaves_what_is_not_ours(app: Celery, driver: Driver, ran: list[Any]) -> None:
    """Row 12.6. Jobs of other kinds and of other queues stay."""
    for value in range(3):
        app.tasks["note"].delay(value)
    app.tasks["note"].apply_async((1,), queue="other")
    other = Client(driver).insert_params([_native(app.conf.task_default_queue)])[0].job.id
    assert app.control.purge() == 3
    assert app.control.discard_all() == 0
    left = Client(driver).job_list().jobs
    assert sorted((row.kind, row.queue) for row in left) == [("native", "celery"), ("python_task", "other")]
    assert other in {row.id for row in left}


def _native(queue: str) -> Any:
    from river_core.insert import InsertParams

    return InsertParams("native", "{}", queue=queue)


def test_questions_are_answered_in_celerys_shapes(app: Celery, working: Working, ran: list[Any]) -> None:
    """Row 12.7, O11. By each worker under its name."""
    assert app.control.inspect(timeout=0.1).ping() is None
    assert app.control.ping(timeout=0.1) == []
    waiting = app.tasks["note"].apply_async((9,), countdown=3600)
    with working(hostname="w1@host", concurrency=2) as worker:
        result = app.tasks["hold"].delay()
        wait_for(lambda: ran, "the start")
        assert app.control.ping(timeout=ANSWERS, limit=1) == [{"w1@host": {"ok": "pong"}}]
        assert asked(app, destination="w1@host").ping() == {"ok": "pong"}
        assert app.control.inspect(["w2@host"], timeout=0.2).ping() is None
        [active] = asked(app).active()["w1@host"]
        assert (active["id"], active["name"], active["args"], active["hostname"]) == (
            result.id,
            "hold",
            [],
            "w1@host",
        )
        assert active["delivery_info"]["routing_key"] == "celery"
        assert abs(active["time_start"] - time.time()) < 3600
        assert asked(app).query_task(result.id, "unknown") == {"w1@host": {result.id: ["active", active]}}
        assert set(active) == KEYS
        assert (active["acknowledged"], active["delivery_info"]["priority"]) == (True, None)
        [scheduled] = asked(app).scheduled()["w1@host"]
        assert scheduled["request"]["id"] == waiting.id
        assert (scheduled["priority"], set(scheduled["request"])) == (6, KEYS)
        assert asked(app).reserved() == {"w1@host": []}
        names = asked(app).registered("max_retries")["w1@host"]
        assert "hold [max_retries=3]" in names
        stats = asked(app).stats()["w1@host"]
        assert stats["total"] == {"hold": 1}
        assert stats["pool"]["max-concurrency"] == 2
        assert [queue["name"] for queue in asked(app).active_queues()["w1@host"]] == ["celery"]
        assert "paused" not in asked(app).active_queues()["w1@host"][0]
        app.runtime.client.queue_pause("celery")
        wait_for(lambda: asked(app).active_queues()["w1@host"][0].get("paused"), "the pause")
        assert asked(app).clock()["w1@host"]["clock"] > 0
        assert "broker_url" not in str(asked(app).conf())
        assert worker.id.startswith("w1@host_")
        wait_for(lambda: _is_told_as_scheduled(app), "an answer before the task is due")
        app.gate.set()  # type: ignore[attr-defined]
        assert result.get(timeout=WAIT) == "held"


def _is_told_as_scheduled(app: Celery) -> bool:
    """Whether the worker tells of a task that is due so soon that its row is available."""
    soon = app.tasks["note"].apply_async((8,), countdown=4, queue="celery")
    return soon.id in {item["request"]["id"] for item in asked(app).scheduled()["w1@host"]}


def test_a_worker_takes_orders(app: Celery, working: Working, ran: list[Any]) -> None:
    """Row 12.6. Queues and places change while it works."""
    control, reply = app.control, {"reply": True, "timeout": ANSWERS, "limit": 1}
    with working(hostname="w1@host", pool="threads", concurrency=2) as worker:
        assert control.add_consumer("more", **reply) == [{"w1@host": {"ok": "add consumer more"}}]
        assert app.tasks["note"].apply_async((1,), queue="more").get(timeout=WAIT) == 1
        assert control.cancel_consumer("more", **reply) == [
            {"w1@host": {"ok": "no longer consuming from more"}}
        ]
        wait_for(lambda: [item.name for item in worker.queue_states()] == ["celery"], "the queue to go")
        control.pool_grow(3, **reply)
        assert worker.size == 5
        control.pool_shrink(4, **reply)
        assert worker.size == 1
        assert "error" in control.pool_shrink(4, **reply)[0]["w1@host"]
        assert "error" in control.pool_restart(**reply)[0]["w1@host"]
        assert "error" in control.broadcast("unknown-command", **reply)[0]["w1@host"]


def test_a_queue_that_was_cancelled_is_worked_again_while_its_task_runs(
    app: Celery, working: Working, ran: list[Any]
) -> None:
    """Row 12.6. The last order counts; the answers are Celery's, whatever was so before."""
    control, reply = app.control, {"reply": True, "timeout": ANSWERS, "limit": 1}
    added = [{"w1@host": {"ok": "add consumer more"}}]
    gone = [{"w1@host": {"ok": "no longer consuming from more"}}]
    with working(hostname="w1@host", concurrency=2) as worker:
        assert control.cancel_consumer("more", **reply) == gone
        assert [control.add_consumer("more", **reply) for _ in range(2)] == [added, added]
        held = app.tasks["hold"].apply_async(queue="more")
        wait_for(lambda: ran == ["began"], "the task that holds the queue")
        assert control.cancel_consumer("more", **reply) == gone
        assert [queue["name"] for queue in asked(app).active_queues()["w1@host"]] == ["celery"]
        assert control.cancel_consumer("more", **reply) == gone
        assert control.add_consumer("more", **reply) == added
        assert app.tasks["note"].apply_async((1,), queue="more").get(timeout=WAIT) == 1
        app.gate.set()  # type: ignore[attr-defined]
        assert held.get(timeout=WAIT) == "held"
        wait_for(lambda: "river-command" not in [item.name for item in threading.enumerate()], "the removals")
        assert [item.name for item in worker.queue_states()] == ["celery", "more"]
        assert app.tasks["note"].apply_async((2,), queue="more").get(timeout=WAIT) == 2


def test_a_burst_of_orders_for_one_queue_is_heard_in_order(
    app: Celery, working: Working, ran: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Row 12.6. Nothing is logged as an error, and the last order of each queue counts."""
    control = app.control
    with working(hostname="w1@host", concurrency=2) as worker:
        for _ in range(8):
            control.add_consumer("more")
            control.cancel_consumer("more")
            control.cancel_consumer("other")
            control.add_consumer("other")
        control.ping(timeout=ANSWERS, limit=1)
        wait_for(
            lambda: [item.name for item in worker.queue_states()] == ["celery", "other"], "the last orders"
        )
        assert app.tasks["note"].apply_async((1,), queue="other").get(timeout=WAIT) == 1
        assert worker.dead_parts(quiet=False) == []
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_custom_commands_answer_from_each_worker(app: Celery, working: Working, ran: list[Any]) -> None:
    """Row 12.8. With their arguments; an error is an answer."""

    @inspect_command(name="current_names")
    def current_names(state: Any, prefix: str = "") -> Any:
        return sorted(name for name in state.app.tasks if name.startswith(prefix))

    @control_command(name="break_it")
    def break_it(state: Any) -> None:
        raise ValueError("broken")

    try:
        with working(hostname="w1@host"), working(hostname="w2@host"):
            answers = app.control.broadcast(
                "current_names", {"prefix": "ho"}, reply=True, timeout=ANSWERS, limit=2
            )
            assert sorted(answers, key=str) == [{"w1@host": ["hold"]}, {"w2@host": ["hold"]}]
            [failed] = app.control.broadcast("break_it", destination=["w2@host"], reply=True, timeout=ANSWERS)
            assert failed == {"w2@host": {"error": "ValueError('broken')"}}
            by_pattern = app.control.inspect(pattern="w2*", matcher="glob", timeout=ANSWERS, limit=1)
            assert by_pattern.ping() == {"w2@host": {"ok": "pong"}}
    finally:
        for name in ("current_names", "break_it"):
            del Panel.data[name], Panel.meta[name]


def test_a_worker_without_remote_control_says_nothing(app: Celery, working: Working, ran: list[Any]) -> None:
    """Row 12.9. `worker_enable_remote_control=False`; revokes count all the same."""
    app.conf.worker_enable_remote_control = False
    with working():
        assert app.control.ping(timeout=0.3) == []
        app.control.revoke("early")
        assert revoked(app.tasks["note"].apply_async((1,), task_id="early"))


def test_large_replies_arrive_whole(app: Celery, working: Working, ran: list[Any]) -> None:
    """More than a notification may hold."""
    app.control.revoke([f"{n:05d}-{'x' * 50}" for n in range(500)])
    with working():
        assert len(asked(app).revoked().popitem()[1]) == 500


def test_polled_workers_answer_too(app: Celery, working: Working, ran: list[Any]) -> None:
    """Behind a pooler nothing is heard."""
    app.conf.river_poll_only = True
    with working(hostname="w1@host"):
        assert app.control.ping(timeout=ANSWERS, limit=1) == [{"w1@host": {"ok": "pong"}}]
        app.control.revoke("early")
        wait_for(lambda: asked(app).revoked() == {"w1@host": ["early"]}, "the revoke")
        assert revoked(app.tasks["note"].apply_async((1,), task_id="early"))


def test_nothing_is_left_behind(app: Celery, driver: Driver, working: Working, ran: list[Any]) -> None:
    """Requests and replies go with the caller."""
    with working():
        app.control.ping(timeout=ANSWERS, limit=1)
    assert Client(driver).job_list(kinds=["python_state"]).jobs == []


@pytest.mark.parametrize("command", ["election", "memdump", "objgraph"])
def test_what_is_not_here_is_refused_by_name(app: Celery, command: str) -> None:
    """Row 12.6, 12.7."""
    with pytest.raises(UnsupportedFeature, match=command):
        app.control.broadcast(command)


# -- rate limits


def test_a_limited_task_lets_others_by(app: Celery, driver: Driver, working: Working, ran: list[Any]) -> None:
    """Row 10.7, O04. It waits in the table, with no slot, and has its turn twice a second, not sooner.

    The twenty others have run before the limited ones had the turns of two seconds.
    """

    @app.task(shared=False, name="limited", rate_limit="2/s")
    def limited() -> None:
        ran.append("limited")

    for _ in range(40):
        limited.delay()
    others = [app.tasks["note"].delay(n) for n in range(20)]
    with working(concurrency=2, pool="threads"):
        assert [other.get(timeout=WAIT) for other in others] == list(range(20))
        wait_for(lambda: ran.count("limited") >= 6, "the sixth turn")
        wait_for(lambda: len(_turns(driver)) > 20, "turns of those that wait")
        turns = _turns(driver)
    last = max(index for index, value in enumerate(ran) if value != "limited")
    assert ran[:last].count("limited") <= 5
    gaps = [(later - earlier).total_seconds() for earlier, later in itertools.pairwise(turns)]
    assert gaps == pytest.approx([0.5] * len(gaps), abs=0.01)


def _turns(driver: Driver) -> list[datetime]:
    """When the tasks that were put off are due."""
    rows = Client(driver).job_list(states=[JobState.SCHEDULED], limit=100).jobs
    return sorted(row.scheduled_at for row in rows)


@pytest.mark.parametrize(("scope", "together"), [("global", True), ("worker", False)])
def test_the_limit_holds_for_all_workers_together(
    app: Celery, driver: Driver, working: Working, ran: list[Any], scope: str, together: bool
) -> None:
    """Row 10.7. Or for each, with `river_rate_limit_scope="worker"`."""
    app.conf.river_rate_limit_scope = scope
    starts: list[float] = []

    @app.task(shared=False, name="limited", rate_limit="60/h")
    def limited() -> None:
        starts.append(time.monotonic())

    for _ in range(2):
        limited.delay()
    with working(concurrency=1, pool="threads"), working(concurrency=1, pool="threads"):
        wait_for(lambda: starts, "the first start")
        if together:
            wait_for(lambda: _has(driver, JobState.SCHEDULED), "the wait of the second")
            assert len(starts) == 1


def _has(driver: Driver, state: JobState) -> bool:
    return bool(Client(driver).job_list(states=[state]).jobs)


def test_a_rate_that_is_set_while_workers_run_is_kept(
    app: Celery, driver: Driver, working: Working, ran: list[Any]
) -> None:
    """Row 10.7. Workers that start later have it, until it is lifted; then what waits runs at once."""
    reply = {"reply": True, "timeout": ANSWERS, "limit": 1}
    with working(hostname="w1@host"):
        told = app.control.rate_limit("note", "1/h", **reply)
        assert told == [{"w1@host": {"ok": "new rate limit set successfully"}}]
        assert app.control.rate_limit("unknown", "1/h", **reply) == [{"w1@host": {"error": "unknown task"}}]
        app.tasks["note"].delay(1).get(timeout=WAIT)
    with working(hostname="w2@host"):
        app.tasks["note"].delay(2)
        wait_for(lambda: _has(driver, JobState.SCHEDULED), "its wait")
        app.control.rate_limit("note", 0, **reply)
        assert app.tasks["note"].delay(3).get(timeout=WAIT) == 3
        wait_for(lambda: sorted(ran) == [1, 2, 3], "the task that had waited")


def test_a_rate_that_was_set_is_taken_back(
    app: Celery, driver: Driver, working: Working, ran: list[Any]
) -> None:
    """Row 10.7. `default` is the rate of the code again, for what waits and for workers that start later."""
    reply = {"reply": True, "timeout": ANSWERS, "limit": 1}
    app.control.rate_limit("note", "1/h")
    with working(hostname="w1@host"):
        for number in range(2):
            app.tasks["note"].delay(number)
        wait_for(lambda: _has(driver, JobState.SCHEDULED), "its wait")
        told = app.control.rate_limit("note", "default", **reply)
        assert told == [{"w1@host": {"ok": "rate limit is the task's own again"}}]
        wait_for(lambda: not _waiting(driver), "its turn")
    with working(hostname="w2@host"):
        results = [app.tasks["note"].delay(number) for number in range(3)]
        assert [result.get(timeout=WAIT) for result in results] == [0, 1, 2]


def test_limits_of_a_task_that_nobody_knows_are_not_kept(
    app: Celery, driver: Driver, working: Working, ran: list[Any]
) -> None:
    """Row 10.7. A worker that knows the task keeps those that an application without it sets."""
    stranger = Celery("stranger", set_as_current=False, river_driver=driver)
    kept = StandingRows(driver)
    app.control.rate_limit("unknown", "1/h")
    app.control.time_limit("unknown", hard=5)
    assert kept.find(LIMITS) == []
    stranger.control.rate_limit("note", "1/h")
    assert kept.find(LIMITS) == []
    with working(hostname="w1@host"):
        reply = {"reply": True, "timeout": ANSWERS, "limit": 1}
        assert stranger.control.rate_limit("note", "2/h", **reply)
        assert [row.key for row in kept.find(LIMITS)] == [f"{LIMITS}note"]
        unknown = stranger.control.rate_limit("unknown", "1/h", **reply)
        assert unknown == [{"w1@host": {"error": "unknown task"}}]
        assert len(kept.find(LIMITS)) == 1
    stranger.close()


@pytest.mark.parametrize("scope", ["global", "worker"])
def test_a_faster_rate_counts_for_what_waits(
    app: Celery, driver: Driver, working: Working, ran: list[Any], scope: str
) -> None:
    """Row 10.7. Tasks that were put off for hours ask for new slots."""
    app.conf.river_rate_limit_scope = scope
    app.tasks["note"].rate_limit = "1/h"
    for number in range(4):
        app.tasks["note"].delay(number)
    with working(hostname="w1@host"):
        wait_for(lambda: ran and len(_waiting(driver)) == 3, "their wait")
        app.control.rate_limit("note", "50/s", reply=True, timeout=ANSWERS, limit=1)
        wait_for(lambda: sorted(ran) == [0, 1, 2, 3], "all")


def _waiting(driver: Driver) -> list[Any]:
    return list(Client(driver).job_list(states=[JobState.SCHEDULED]).jobs)


def test_a_rate_that_is_none_is_refused(app: Celery) -> None:
    """Before anything is written."""
    with pytest.raises(ImproperlyConfigured, match="10/m"):
        app.control.rate_limit("note", "often")


def test_a_time_limit_that_is_set_while_workers_run_is_kept(
    app: Celery, working: Working, ran: list[Any]
) -> None:
    """Row 10.4. It counts for the next run, also on a worker that starts later; the call's own limit wins."""

    @app.task(shared=False, name="loops", soft_time_limit=60)
    def loops(seconds: float) -> str:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(0.01)
        return "done"

    app.control.time_limit("loops", soft=0.2, hard=30)
    with working(pool="threads"):
        with pytest.raises(SoftTimeLimitExceeded):
            loops.delay(30).get(timeout=WAIT)
        assert loops.apply_async((0.6,), soft_time_limit=50).get(timeout=WAIT) == "done"
        reply = {"reply": True, "timeout": ANSWERS, "limit": 1}
        app.control.time_limit("loops", **reply)
        assert loops.delay(0.6).get(timeout=WAIT) == "done"
