"""Who is alive, what a client without its lock does, and what others do with a dead client's jobs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from river_core.clock import SystemClock
from river_core.db import liveness
from river_core.db.statement import Dialect, Statement
from river_core.db.times import decode_time
from river_core.drivers import open_driver
from river_core.drivers.base import Driver
from river_core.errors import OperationalError
from river_core.notifier import TOPIC_LEADERSHIP, Notifier
from river_core.task import Job
from river_core.worker.identity import LOCKED, POLL_ONLY
from river_core.worker.liveness import LivenessLock, lockable
from river_core.worker.recovery import Recovery, RecoveryTiming
from river_core.worker.refresher import AttemptRefresher
from tests.runtime.stored import NOW, FixedClock, Steady, put_running, read, run, states
from tests.runtime.workers import DEADLINE, Gate, insert, registry, running, wait_for

ME = "observer_00000000_pyl"
OTHER = "other_11111111_pyl"
QUICK = RecoveryTiming(interval=0.05, dead_after=0.3, quiet=0.0, gap=30.0)
AT_ONCE = RecoveryTiming(interval=0.05, dead_after=0.0, quiet=0.0, gap=30.0)

HOLDER = """
import sys
from river_core.drivers import open_driver
from river_core.notifier import Notifier
from river_core.worker.liveness import LivenessLock
driver = open_driver(sys.argv[1])
notifier = Notifier(driver, ["river_leadership"])
lock = LivenessLock(driver, sys.argv[2], lambda: None)
lock.attach(notifier)
notifier.start()
lock.start()
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def living(driver: Driver, client_id: str, **options: Any) -> Iterator[tuple[LivenessLock, Notifier]]:
    """A client that shows that it lives, in this process."""
    notifier = Notifier(driver, [TOPIC_LEADERSHIP])
    lock = LivenessLock(driver, client_id, lambda: None, **options)
    lock.attach(notifier)
    notifier.start()
    try:
        lock.start()
        yield lock, notifier
    finally:
        lock.stop()
        notifier.stop()


@pytest.fixture
def holder(database_url: str, driver: Driver) -> Iterator[subprocess.Popen[bytes]]:
    """A process that holds the lock of OTHER."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, database_url, OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"held\n"
            yield process
        finally:
            process.kill()


# -- what a dead client leaves


def test_jobs_of_a_killed_process_are_taken_over(driver: Driver, holder: subprocess.Popen[bytes]) -> None:
    """While it lives nothing is touched; after kill -9 its job is available and its queue is announced."""
    job = put_running(driver, OTHER, queue="its")
    recovery = Recovery(driver, ME, timing=AT_ONCE, clock=FixedClock())
    recovery.run_once()
    assert states(driver, job) == ["running"]
    listener = driver.listen(["river_insert"])
    try:
        holder.send_signal(signal.SIGKILL)
        holder.wait(60)
        recovery = Recovery(driver, ME, timing=QUICK, clock=FixedClock())
        recovery.start()
        wait_for(lambda: states(driver, job) == ["available"], "the recovery")
        assert [heard.payload for heard in listener.wait(60)] == ['{"queue":"its"}']
    finally:
        recovery.stop()
        listener.close()


def test_a_client_that_stops_frees_its_lock(driver: Driver) -> None:
    """Its rows, if it left any, are taken over like a dead client's."""
    job = put_running(driver, OTHER)
    recovery = Recovery(driver, ME, timing=AT_ONCE)
    with living(driver, OTHER):
        recovery.run_once()
        assert states(driver, job) == ["running"]
    wait_for(lambda: recovery.run_once() and states(driver, job) == ["available"], "the recovery")


def test_only_clients_that_hold_locks_are_judged(driver: Driver) -> None:
    """Rows of other languages, of poll-only clients and of the observer itself stay."""
    ids = [put_running(driver, name) for name in ("go_host_2026", f"poller{POLL_ONLY}", ME)]
    ids.append(put_running(driver, OTHER, attempted_by=[OTHER, "go_host_2026"]))
    dead = put_running(driver, OTHER)
    Recovery(driver, ME, timing=AT_ONCE).run_once()
    assert states(driver, *ids, dead) == ["running"] * 4 + ["available"]


def test_a_recovered_job_keeps_its_place_and_tells_what_happened(driver: Driver) -> None:
    """The attempt stays spent; the error names the client; the rescue is counted."""
    job = put_running(driver, OTHER, metadata={"a": 1})
    before = read(driver, job)
    Recovery(driver, ME, clock=FixedClock()).recover([OTHER])
    row = read(driver, job)
    assert (row.state, row.attempt, row.scheduled_at) == ("available", 1, before.scheduled_at)
    assert row.metadata == {"a": 1, "river:rescue_count": 1}
    [error] = row.errors
    assert (error.at, error.attempt, error.trace) == (NOW, 1, "")
    assert error.error.startswith(f"{liveness.WORKER_LOST_PREFIX}{OTHER} ")


@pytest.mark.parametrize(
    ("crashes_before", "state", "wait"),
    [(2, "available", 0), (3, "retryable", 256), (4, "retryable", 300), (23, "retryable", 300)],
)
def test_later_crashes_wait(driver: Driver, crashes_before: int, state: str, wait: float) -> None:
    """The first three cost no time, the fourth 256 s, all others 300 s, half of that more or less."""
    job = put_running(driver, OTHER, metadata={"river:rescue_count": crashes_before})
    clock = wall_time(driver)
    Recovery(driver, ME).recover([OTHER])
    row = read(driver, job)
    assert row.state == state
    if wait:
        waits = (row.scheduled_at - clock).total_seconds()
        assert wait * 0.5 - 5 < waits < wait * 1.5 + 60


def wall_time(driver: Driver) -> datetime:
    """The database's own time."""
    text = "SELECT now()" if driver.sql.dialect is Dialect.POSTGRES else "SELECT datetime('now')"
    return decode_time(run(driver, text)[0][0])


def test_the_budget_ends_a_job_that_kills_its_workers(driver: Driver) -> None:
    """At the last attempt, at a lowered number of crashes, and at once for a job that runs at most once."""
    last = put_running(driver, OTHER, attempt=25)
    once = put_running(driver, OTHER, max_attempts=1)
    poison = put_running(driver, OTHER, metadata={"river:rescue_count": 4})
    healthy = put_running(driver, OTHER, metadata={"river:rescue_count": 1})
    Recovery(driver, ME, max_crashes=5).recover([OTHER])
    assert states(driver, last, once, poison, healthy) == ["discarded"] * 3 + ["available"]
    assert read(driver, once).finalized_at is not None


def test_a_job_with_a_cancellation_mark_is_cancelled(driver: Driver) -> None:
    """Whatever attempts it has left."""
    mark = {"cancel_attempted_at": "2026-08-07T14:00:00Z"}
    job = put_running(driver, OTHER, metadata=mark)
    Recovery(driver, ME).recover([OTHER])
    assert read(driver, job).state == "cancelled"
    assert read(driver, job).metadata == {**mark, "river:rescue_count": 1}


def test_many_jobs_are_recovered_in_batches(driver: Driver) -> None:
    """All of them, and nothing but them."""
    ids = [put_running(driver, OTHER) for _ in range(5)]
    finished = put_running(driver, OTHER, state="completed", finalized_at=NOW)
    assert Recovery(driver, ME, batch_rows=2).recover([OTHER]) == 5
    assert states(driver, *ids, finished) == ["available"] * 5 + ["completed"]


@pytest.mark.postgres
def test_a_client_that_came_back_keeps_its_jobs(postgres_driver: Driver) -> None:
    """The statement that takes rows looks at the lock once more."""
    job = put_running(postgres_driver, OTHER)
    with living(postgres_driver, OTHER):
        assert Recovery(postgres_driver, ME).recover([OTHER]) == 0
    assert states(postgres_driver, job) == ["running"]


@pytest.mark.postgres
def test_two_observers_do_not_wait_for_each_other(postgres_driver: Driver) -> None:
    """What one has locked the other skips."""
    first, second = (put_running(postgres_driver, OTHER) for _ in range(2))
    with postgres_driver.connect() as connection, connection.transaction():
        connection.run_script(f"SELECT FROM river_job WHERE id = {first} FOR UPDATE")
        assert Recovery(postgres_driver, ME).recover([OTHER]) == 1
    assert states(postgres_driver, first, second) == ["running", "available"]


# -- the lock itself


@pytest.mark.postgres
def test_a_terminated_session_costs_a_living_client_nothing(postgres_driver: Driver) -> None:
    """It takes the lock anew within a second, long before anybody takes its jobs."""
    job = put_running(postgres_driver, OTHER)
    timing = RecoveryTiming(interval=0.05, dead_after=10.0, quiet=0.0)
    recovery = Recovery(postgres_driver, ME, timing=timing)
    with living(postgres_driver, OTHER) as (lock, _):
        before = lock_sessions(postgres_driver)
        run(postgres_driver, "SELECT pg_terminate_backend(@pid)", pid=before[0])

        def came_back() -> bool:
            recovery.run_once()
            return bool(set(lock_sessions(postgres_driver)) - set(before))

        wait_for(came_back, "the new lock")
        recovery.run_once()
        assert lock.trusted
    assert states(postgres_driver, job) == ["running"]


def lock_sessions(driver: Driver) -> list[int]:
    """Process ids of the sessions that hold a client's lock in this database."""
    text = """
        SELECT pid
        FROM pg_locks
        JOIN pg_database ON pg_database.oid = database AND datname = current_database()
        WHERE locktype = 'advisory' AND classid = @lock_class
    """
    return [row[0] for row in run(driver, text, lock_class=liveness.LOCK_CLASS)]


@pytest.mark.postgres
def test_the_key_does_not_depend_on_how_the_schema_is_named(
    postgres_url: str, postgres_driver: Driver
) -> None:
    """A client that names its schema and one that relies on the search path see each other."""
    [(schema,)] = run(postgres_driver, "SELECT current_schema()")
    put_running(postgres_driver, OTHER)
    named = open_driver(postgres_url, schema=schema)
    try:
        statement = liveness.client_list_running(named.sql, ME, LOCKED)
        with living(postgres_driver, OTHER), named.connect() as connection:
            [(client, held, age)] = connection.fetch(statement)
        assert (client, held) == (OTHER, True)
        assert age > 0
    finally:
        named.close()


def test_the_lock_is_proved_again_and_again(driver: Driver) -> None:
    """A client that listens in peace keeps the trust in its lock."""
    with living(driver, OTHER, look=0.05) as (lock, notifier):
        proved = lock.proved_at

        def proved_again() -> bool:
            notifier.wake()
            return lock.proved_at > proved

        wait_for(proved_again, "the next proof")
        assert lock.trusted


def test_a_client_without_its_lock_claims_nothing_and_is_interrupted_once(driver: Driver) -> None:
    """After 8 seconds without a proof; a look that comes late does not count as one."""
    steady = Steady()
    lost: list[float] = []
    lock = LivenessLock(driver, OTHER, lambda: lost.append(steady()), monotonic=steady)
    for _ in range(4):
        steady.seconds += 2.0
        lock.run_once()
    assert (lock.trusted, lost) == (True, [])
    for _ in range(3):
        steady.seconds += 2.0
        lock.run_once()
    assert (lock.trusted, lost) == (False, [1010.0])


@pytest.mark.postgres
def test_a_suspended_process_looks_again_before_it_interrupts(postgres_driver: Driver) -> None:
    """Its session may have survived: the first turn after a gap only asks for a proof."""
    steady = Steady()
    lost: list[int] = []
    lock = LivenessLock(postgres_driver, OTHER, lambda: lost.append(1), monotonic=steady)
    lock.attach(Notifier(postgres_driver, []))
    steady.seconds += 60
    lock.run_once()
    assert (lock.trusted, lost) == (False, [])
    steady.seconds += 1
    lock.run_once()
    assert lost == [1]


def test_a_client_without_a_lock_by_its_id_is_always_trusted(driver: Driver) -> None:
    """Poll-only clients have none to lose."""
    steady = Steady()
    with living(driver, f"poller{POLL_ONLY}", monotonic=steady) as (lock, _):
        steady.seconds += 3600
        lock.run_once()
        assert lock.trusted
    assert lockable(driver, poll_only=False)
    assert lockable(driver, poll_only=True) is (driver.sql.dialect is Dialect.SQLITE)


def test_a_database_in_memory_has_no_lock() -> None:
    """Nobody else can see it; a client that asks for a lock all the same is refused."""
    driver = open_driver("sqlite:///:memory:")
    try:
        assert not lockable(driver, poll_only=False)
        with pytest.raises(OperationalError, match="in memory"):
            LivenessLock(driver, OTHER, lambda: None).start()
    finally:
        driver.close()


# -- long attempts


def refresh(driver: Driver, clock: FixedClock, *ids: int) -> None:
    AttemptRefresher(driver, OTHER, lambda: ids, 600.0, clock=clock).run_once()


def test_old_attempts_are_refreshed_and_keep_their_true_start(driver: Driver) -> None:
    """Only those that are older than ten minutes, run here, and are this client's."""
    clock = FixedClock()
    old = NOW - timedelta(seconds=601)
    mine = put_running(driver, OTHER, attempted_at=old, metadata={"a": 1}, attempt=3)
    young = put_running(driver, OTHER, attempted_at=NOW - timedelta(seconds=599))
    foreign = put_running(driver, "somebody", attempted_at=old)
    not_here = put_running(driver, OTHER, attempted_at=old)
    refresh(driver, clock, mine, young, foreign)
    untouched = [read(driver, job).attempted_at for job in (young, foreign, not_here)]
    assert untouched == [NOW - timedelta(seconds=599), old, old]
    row = read(driver, mine)
    assert row.attempted_at is not None
    assert row.attempted_at > NOW
    start = row.metadata.pop("python_attempted_at")
    assert (row.metadata["a"], start["attempt"]) == (1, 3)
    assert start["at"].startswith("2026-08-07T14:19:59.000")


def test_the_true_start_is_the_attempts_own(driver: Driver) -> None:
    """A second refresh keeps it, a later attempt replaces it."""
    kept = {"python_attempted_at": {"attempt": 2, "at": "2026-08-07T10:00:00Z"}}
    old = NOW - timedelta(hours=1)
    same = put_running(driver, OTHER, attempted_at=old, attempt=2, metadata=kept)
    later = put_running(driver, OTHER, attempted_at=old, attempt=3, metadata=kept)
    refresh(driver, FixedClock(), same, later)
    assert read(driver, same).metadata == kept
    assert read(driver, later).metadata["python_attempted_at"]["attempt"] == 3


@pytest.mark.parametrize("hours", [-2, 2])
def test_the_age_of_attempts_is_by_the_databases_clock(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    """A worker whose clock is wrong renews the same rows as any other."""
    now = datetime.now(UTC)
    old = put_running(driver, OTHER, attempted_at=now - timedelta(minutes=11))
    young = put_running(driver, OTHER, attempted_at=now - timedelta(minutes=9))
    before = read(driver, young).attempted_at
    monkeypatch.setattr(SystemClock, "now", lambda self: now + timedelta(hours=hours))
    AttemptRefresher(driver, OTHER, lambda: [old, young], 600.0).run_once()
    after = read(driver, old).attempted_at
    assert after is not None
    assert now - timedelta(minutes=1) < after < now + timedelta(minutes=1)
    assert read(driver, young).attempted_at == before


@pytest.mark.postgres
def test_a_row_that_its_task_holds_does_not_keep_others_from_the_refresh(postgres_driver: Driver) -> None:
    """It has its turn when the task's transaction is over."""
    old = NOW - timedelta(hours=1)
    held_by_task, other = (put_running(postgres_driver, OTHER, attempted_at=old) for _ in range(2))
    lock = Statement("test", "SELECT id FROM river_job WHERE id = @id FOR UPDATE", {"id": held_by_task})
    with postgres_driver.connect() as task, task.transaction():
        task.fetch(lock)
        refresh(postgres_driver, FixedClock(), held_by_task, other)
        assert read(postgres_driver, held_by_task).attempted_at == old
        assert read(postgres_driver, other).attempted_at != old
    refresh(postgres_driver, FixedClock(), held_by_task, other)
    assert read(postgres_driver, held_by_task).attempted_at != old


def test_a_worker_refreshes_as_often_as_it_is_told(driver: Driver) -> None:
    """While a job runs its row is renewed again and again; the job notices nothing and ends once."""
    gate, starts = Gate(), list[datetime]()

    def task(job: Job) -> None:
        assert job.row.attempted_at is not None
        starts.append(job.row.attempted_at)
        gate(job)

    with running(driver, registry(known=task), refresh_attempts_after=0.05):
        job = insert(driver, "known")
        assert gate.began.wait(DEADLINE)
        [first] = starts
        later = wait_for(lambda: renewed(driver, job.id, first), "the first renewal")
        wait_for(lambda: renewed(driver, job.id, later), "the second renewal")
        gate.release.set()
        wait_for(lambda: states(driver, job.id) == ["completed"], "the end")
    row = read(driver, job.id)
    assert (row.attempt, len(row.attempted_by), row.errors) == (1, 1, [])
    assert decode_time(row.metadata["python_attempted_at"]["at"]) == first


def renewed(driver: Driver, job_id: int, since: datetime) -> datetime | None:
    """The time of the row's attempt, if it was moved since then."""
    now = read(driver, job_id).attempted_at
    return now if now is not None and now > since else None


@pytest.mark.postgres
def test_a_forked_child_does_not_keep_its_parents_session(postgres_driver: Driver) -> None:
    """A child that outlives a killed worker must not make it look alive."""
    notifier = Notifier(postgres_driver, [TOPIC_LEADERSHIP])
    lock = LivenessLock(postgres_driver, OTHER, lambda: None)
    lock.attach(notifier)
    notifier.start()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    try:
        os.close(reader)
        put_running(postgres_driver, OTHER)
        assert held(postgres_driver, OTHER) is True
        notifier.stop()
        wait_for(
            lambda: held(postgres_driver, OTHER) is False, "the end of the session while the child lives"
        )
        assert os.waitpid(child, os.WNOHANG) == (0, 0)
    finally:
        os.close(writer)
        os.waitpid(child, 0)


def held(driver: Driver, client_id: str) -> bool:
    """Whether an observer sees the client's lock held."""
    with driver.connect() as connection:
        rows = connection.fetch(liveness.client_list_running(driver.sql, ME, LOCKED))
    return next(bool(row[1]) for row in rows if row[0] == client_id)


def test_a_worker_that_slept_through_the_loss_of_its_session_ends_its_old_work(
    postgres_driver: Driver,
) -> None:
    """The new session's lock says nothing about the time in between."""
    clock = Steady()
    lost: list[int] = []
    notifier = Notifier(postgres_driver, [TOPIC_LEADERSHIP])
    lock = LivenessLock(postgres_driver, OTHER, lambda: lost.append(1), monotonic=clock)
    lock.attach(notifier)
    notifier.start()
    try:
        assert lost == []
        clock.seconds += 20.0
        listener = notifier._listener
        assert listener is not None
        lock._hold_on(listener)
        assert lost == [1]
        assert lock.trusted
    finally:
        notifier.stop()
