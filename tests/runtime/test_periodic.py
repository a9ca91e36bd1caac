"""The leader inserts periodic jobs once each, at their times, whatever fails and whoever leads next."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from river_core.client import Client
from river_core.db import periodic
from river_core.drivers.base import Connection, Driver
from river_core.errors import OperationalError
from river_core.insert import EncodedArgs, InsertOpts, InsertParams, InsertResult
from river_core.job import JobRow
from river_core.periodic import PeriodicJob, PeriodicJobs
from river_core.plugins import InsertOperation, Plugin
from river_core.schedule import CronSchedule, IntervalSchedule, NeverSchedule
from river_core.task import Registry
from river_core.unique import UniqueOpts
from river_core.worker.elector import ElectionTiming, Elector
from river_core.worker.maintenance.group import MaintenanceServices
from river_core.worker.maintenance.periodic import PeriodicEnqueuer
from river_core.worker.maintenance.periodic_plans import RETRY_SECONDS
from tests.runtime.stored import NOW, FixedClock, put, read, run
from tests.runtime.workers import registry, running, wait_for

MINUTE = IntervalSchedule(60)
QUICK = ElectionTiming(interval=0.1, ttl=60.0, safety=0.5, bid_jitter=0.05)
VECTORS = json.loads((Path(__file__).parents[1] / "vectors/cron_and_periodic.json").read_text("utf-8"))


class Leader:
    """An enqueuer without a thread, on a clock that stands still."""

    def __init__(
        self, driver: Driver, *jobs: PeriodicJob, clock: FixedClock | None = None, client: Any = None
    ) -> None:
        self.clock = clock or FixedClock()
        self.jobs = PeriodicJobs(jobs)
        inserter = client or Client(driver, clock=self.clock)
        self.enqueuer = PeriodicEnqueuer(driver, self.jobs, inserter, clock=self.clock, stagger=0)

    def turn(self, seconds: float = 0) -> float:
        """Let time pass and take a turn."""
        self.clock.move(seconds)
        return self.enqueuer.run_once()


class Failing(Client):
    """A client whose inserts fail while `error` is set."""

    error: Exception | None = None
    refused: str = ""

    def insert_rows_on(self, connection: Connection, rows: Sequence[InsertParams]) -> list[InsertResult]:
        """Insert, or fail after having written."""
        results = super().insert_rows_on(connection, rows)
        if self.error is not None:
            raise self.error
        if any(row.kind == self.refused for row in rows):
            raise ValueError(f"a hook refuses {self.refused}")
        return results


def job(
    kind: str = "tick", schedule: Any = MINUTE, opts: InsertOpts | None = None, **options: Any
) -> PeriodicJob:
    return PeriodicJob(schedule, lambda: (EncodedArgs(kind, "{}"), opts), **options)


def inserted(driver: Driver, kind: str = "tick") -> list[JobRow]:
    """The rows of a kind in order of insertion."""
    ids = run(driver, "SELECT id FROM river_job WHERE kind = @kind ORDER BY id", kind=kind)
    return [read(driver, job_id) for (job_id,) in ids]


def planned(driver: Driver, kind: str = "tick") -> list[float]:
    """For when the rows of a kind were planned, in seconds from the first time of the clock."""
    return [(row.scheduled_at - NOW).total_seconds() for row in inserted(driver, kind)]


def test_inserts_at_the_planned_times_and_counts_from_them(driver: Driver) -> None:
    """The first run is one interval ahead; a turn that comes late shifts nothing. Checklist 143."""
    leader = Leader(driver, job())
    assert leader.turn() == 60
    assert leader.turn(59.89) == pytest.approx(0.11)
    assert planned(driver) == []
    assert leader.turn(0.02) == 60, "a turn comes once a minute at least"
    assert leader.turn(75) == pytest.approx(45.09)
    assert planned(driver) == [60, 120]


def test_a_row_is_as_go_writes_it(driver: Driver) -> None:
    """Available at its planned time, with the metadata keys, the application's own kept. Checklist 142."""
    own = InsertOpts(metadata={"k": "v", "periodic": False}, queue="other", priority=2, tags=["tag"])
    leader = Leader(driver, job(id="meta:job/1", opts=own), job("bare"))
    leader.turn()
    leader.turn(60)
    [row], [bare] = inserted(driver), inserted(driver, "bare")
    vectors = {case["name"]: case["first_row"] for case in VECTORS["periodic_inserts"]}
    assert row.metadata == vectors["per_meta"]["metadata"] | {"river:periodic_job_id": "meta:job/1"}
    assert bare.metadata == vectors["per_start"]["metadata"]
    assert (row.state, row.queue, row.priority, row.tags) == ("available", "other", 2, ["tag"])
    assert (bare.state, bare.max_attempts, bare.unique_key) == ("available", 25, None)


def test_a_time_in_the_options_goes_before_the_planned_one(driver: Driver) -> None:
    """The row is scheduled then, as in any insert."""
    leader = Leader(driver, job(opts=InsertOpts(scheduled_at=NOW + timedelta(hours=1))))
    leader.turn()
    leader.turn(60)
    assert [(row.state, row.scheduled_at) for row in inserted(driver)] == [
        ("scheduled", NOW + timedelta(hours=1))
    ]


def test_run_on_start_inserts_when_leading_begins(driver: Driver) -> None:
    """Once more with each term, and when it is added later; then the schedule goes on. Checklist 142."""
    leader = Leader(driver, job(run_on_start=True))
    leader.turn()
    leader.jobs.add(job("later", NeverSchedule(), run_on_start=True))
    leader.turn(1)
    leader.turn(59)
    assert planned(driver) == [0, 60]
    assert planned(driver, "later") == [1]


def test_a_constructor_may_give_arguments_alone_or_nothing(driver: Driver) -> None:
    """None leaves this run out, and the next one comes as planned. Checklist 142."""
    answers: list[Any] = [None, EncodedArgs("tick", "{}"), None]
    leader = Leader(driver, PeriodicJob(MINUTE, lambda: answers.pop(0), id="ticks"))
    leader.turn()
    for _ in range(3):
        leader.turn(60)
    assert planned(driver) == [120]


def test_constructors_run_when_due(driver: Driver) -> None:
    """Neither at registration nor before."""
    calls: list[int] = []

    def construct() -> EncodedArgs:
        calls.append(1)
        return EncodedArgs("tick", "{}")

    leader = Leader(driver, PeriodicJob(MINUTE, construct))
    leader.turn()
    assert calls == []
    leader.turn(60)
    assert calls == [1]


def test_a_failed_insert_stays_due(driver: Driver) -> None:
    """All due jobs are one transaction; when it fails all are tried again, none is skipped. Checklist 142."""
    client = Failing(driver)
    leader = Leader(driver, job(id="ticks"), job("other"), job("started", run_on_start=True), client=client)
    client.error = OperationalError("the database is out of reach")
    assert leader.turn() == RETRY_SECONDS
    assert leader.turn(60) == RETRY_SECONDS
    assert inserted(driver) == inserted(driver, "other") == inserted(driver, "started") == []
    client.error = None
    leader.turn(RETRY_SECONDS)
    assert planned(driver) == planned(driver, "other") == [60]
    assert planned(driver, "started") == [0, 60]
    leader.turn(60)
    assert planned(driver) == [60, 120]


def test_what_fell_due_meanwhile_follows_at_once(driver: Driver) -> None:
    """In the same term each planned time gets its row, as by River."""
    client = Failing(driver)
    leader = Leader(driver, job(), client=client)
    leader.turn()
    client.error = OperationalError("the database is out of reach")
    leader.turn(60)
    client.error = None
    assert leader.turn(125) == 0
    assert leader.turn() == 0
    leader.turn()
    assert planned(driver) == [60, 120, 180]


def test_one_job_that_is_refused_holds_up_no_other(driver: Driver) -> None:
    """It stays due alone."""
    client = Failing(driver)
    client.refused = "bad"
    leader = Leader(driver, job(id="ticks"), job("bad", id="bad"), client=client)
    leader.turn()
    assert leader.turn(60) == RETRY_SECONDS
    assert leader.turn(60) == RETRY_SECONDS
    assert planned(driver) == [60, 120]
    client.refused = ""
    leader.turn()
    assert planned(driver, "bad") == [60]


def test_a_raising_constructor_loses_its_own_run_only(driver: Driver) -> None:
    """It is logged; other jobs, and its own next run, come as planned. So for options that are refused."""
    answers: list[Any] = [KeyError("nothing to report"), None]

    def construct() -> EncodedArgs:
        error = answers.pop(0)
        if error:
            raise error
        return EncodedArgs("late", "{}")

    leader = Leader(driver, PeriodicJob(MINUTE, construct), job("bad", opts=InsertOpts(priority=9)), job())
    leader.turn()
    leader.turn(60)
    leader.turn(60)
    assert planned(driver) == [60, 120]
    assert planned(driver, "late") == [120]
    assert planned(driver, "bad") == []


def test_a_raising_schedule_stops_no_other(driver: Driver) -> None:
    """It is asked again on the next pass, and goes on from where it was. Checklist 143."""
    broken = False

    def every_minute(moment: datetime) -> datetime:
        if broken:
            raise LookupError("the calendar is away")
        return moment + timedelta(minutes=1)

    leader = Leader(driver, job("own", every_minute), job())
    leader.turn()
    broken = True
    leader.turn(60)
    assert leader.turn(60) == RETRY_SECONDS
    assert planned(driver) == [60, 120]
    broken = False
    leader.turn(RETRY_SECONDS)
    assert planned(driver, "own") == [60, 120]


def test_a_schedule_that_stands_still_is_an_error_at_run_time_too(driver: Driver) -> None:
    """It is logged and asked again; it does not run without end. Checklist 143."""
    answers: dict[str, Callable[[datetime], datetime]] = {"now": lambda moment: moment + timedelta(minutes=1)}
    leader = Leader(driver, job("own", lambda moment: answers["now"](moment)))
    leader.turn()
    answers["now"] = lambda moment: moment
    leader.turn(60)
    assert leader.turn(60) == RETRY_SECONDS
    assert planned(driver, "own") == [60]


def test_removed_jobs_come_no_more(driver: Driver) -> None:
    """Nor those that were cleared."""
    leader = Leader(driver, job(), job("other"))
    leader.turn()
    leader.jobs.remove(1)
    leader.turn(60)
    leader.jobs.clear()
    leader.turn(60)
    assert planned(driver) == []
    assert planned(driver, "other") == [60]


def test_unique_jobs_of_a_period_are_inserted_once(driver: Driver) -> None:
    """The period is that of the planned time, also when the row is written a moment before it."""
    opts = InsertOpts(unique_opts=UniqueOpts(by_period=60))
    leader = Leader(driver, job(opts=opts), job(opts=opts))
    leader.turn()
    for seconds in (59.95, 60, 60):
        leader.turn(seconds)
    assert planned(driver) == [60, 120, 180]


# -- the leader changes


def test_a_run_is_not_inserted_twice_by_a_leader_whose_clock_is_behind(driver: Driver) -> None:
    """The next leader goes on behind what the last one inserted."""
    schedule = CronSchedule("* * * * *")
    first, second = FixedClock(), FixedClock()
    old = Leader(driver, job("tick", schedule, id="ticks"), job("bare", schedule), clock=first)
    old.turn()
    old.turn(60)
    second.move(50)
    new = Leader(driver, job("tick", schedule, id="ticks"), job("bare", schedule), clock=second)
    new.turn()
    new.turn(10)
    assert planned(driver) == [60]
    assert planned(driver, "bare") == [60, 60], "without an id nothing is remembered, as by River"
    new.turn(60)
    assert planned(driver) == [60, 120]


def test_a_leader_that_was_held_up_inserts_nothing_that_the_next_one_has_inserted(driver: Driver) -> None:
    """Its claim of the run fails inside the transaction of the insert."""
    old, new = (Leader(driver, job(id="ticks")) for _ in range(2))
    old.turn()
    new.turn()
    new.turn(60)
    old.turn(60)
    assert planned(driver) == [60]
    old.turn(60)
    new.turn(60)
    assert planned(driver) == [60, 120]


class Slow(Client):
    """A client whose transaction stays open, with everything written, until it is let go."""

    def __init__(self, driver: Driver, **options: Any) -> None:
        super().__init__(driver, **options)
        self.written, self.release = threading.Event(), threading.Event()

    def insert_rows_on(self, connection: Connection, rows: Sequence[InsertParams]) -> list[InsertResult]:
        """Insert, say so, and wait."""
        results = super().insert_rows_on(connection, rows)
        self.written.set()
        assert self.release.wait(60)
        return results


def test_two_leaders_at_the_same_moment_insert_a_run_once(driver: Driver) -> None:
    """The second one waits for the first one's transaction, and finds the run settled."""
    slow = Slow(driver)
    old, new = Leader(driver, job(id="ticks"), client=slow), Leader(driver, job(id="ticks"))
    old.turn()
    new.turn()
    turns = [threading.Thread(target=leader.turn, args=[60]) for leader in (old, new)]
    turns[0].start()
    assert slow.written.wait(60)
    turns[1].start()
    assert inserted(driver) == [], "nothing is committed"
    slow.release.set()
    for turn in turns:
        turn.join(60)
    assert planned(driver) == [60]


def test_an_interval_goes_on_over_leaders(driver: Driver) -> None:
    """A run of every hour comes though leaders change every 25 minutes."""
    clock = FixedClock()
    for _ in range(7):
        leader = Leader(driver, job("tick", IntervalSchedule(3600), id="hourly"), clock=clock)
        for _ in range(5):
            leader.turn()
            leader.turn(300)
    leader.turn()
    assert planned(driver) == [3600, 7200]


def test_without_being_asked_a_missed_run_is_left_out(driver: Driver) -> None:
    """The next one comes at its time."""
    clock = FixedClock()
    Leader(driver, job(id="ticks"), clock=clock).turn()
    leader = Leader(driver, job(id="ticks"), clock=clock)
    assert leader.turn(150) == 30
    assert planned(driver) == []
    leader.turn(30)
    assert planned(driver) == [180]


def test_the_last_missed_run_is_caught_up_when_asked(driver: Driver) -> None:
    """One of all that were missed, at its planned time, and no run on start beside it; then as planned."""
    clock = FixedClock()
    jobs = (
        job(id="ticks", catch_up=True, run_on_start=True),
        job("cron", CronSchedule("@hourly"), id="cron", catch_up=True),
    )
    first = Leader(driver, *jobs, clock=clock)
    first.turn()
    leader = Leader(driver, *jobs, clock=clock)
    leader.turn(7 * 3600 + 150)
    assert planned(driver) == [0, 7 * 3600 + 120]
    assert planned(driver, "cron") == [6.5 * 3600]
    leader.turn(30)
    assert planned(driver) == [0, 7 * 3600 + 120, 7 * 3600 + 180]


def test_what_was_done_and_cleaned_away_is_not_caught_up(driver: Driver) -> None:
    """A weekly run is remembered when its row is long gone."""
    clock = FixedClock()
    weekly = job("tick", CronSchedule("@weekly"), id="weekly", catch_up=True)
    leader = Leader(driver, weekly, clock=clock)
    leader.turn()
    leader.turn(3 * 86400)
    assert len(planned(driver)) == 1
    run(driver, "DELETE FROM river_job WHERE kind = 'tick'")
    Leader(driver, weekly, clock=clock).turn(3 * 86400)
    assert planned(driver) == []


def test_what_another_language_inserted_meanwhile_is_not_caught_up(driver: Driver) -> None:
    """A Go leader leaves no standing row, but its rows carry the id."""
    clock = FixedClock()
    jobs = (job(id="ticks", catch_up=True), job("other", id="other", catch_up=True))
    Leader(driver, *jobs, clock=clock).turn()
    when = NOW + timedelta(seconds=120)
    put(
        driver,
        kind="go",
        created_at=when,
        scheduled_at=when,
        metadata={"periodic": True, "river:periodic_job_id": "ticks"},
    )
    Leader(driver, *jobs, clock=clock).turn(150)
    assert planned(driver) == []
    assert planned(driver, "other") == [120]


def test_a_new_job_is_not_caught_up(driver: Driver) -> None:
    """A first start does not run what could have run before."""
    Leader(driver, job("tick", CronSchedule("* * * * *"), id="ticks", catch_up=True)).turn(30)
    assert planned(driver) == []


def test_the_memory_is_one_standing_row(driver: Driver) -> None:
    """Pending, of the reserved kind, in a queue that nobody works; put back when somebody finished it."""
    leader = Leader(driver, job(id="ticks"))
    leader.turn()
    leader.turn(60)
    [row] = inserted(driver, "python_state")
    assert (row.state, row.queue, row.args) == (
        "pending",
        "python_state",
        {"state": "periodic_job", "id": "ticks"},
    )
    assert row.metadata == {"python_state_settled_at": "2026-08-07T14:31:00.000000Z"}
    Client(driver).job_cancel(row.id)
    leader.turn(60)
    [again] = inserted(driver, "python_state")
    assert (again.id, again.state, again.finalized_at) == (row.id, "pending", None)
    assert planned(driver) == [60, 120]


def test_in_rivers_own_way_nothing_is_remembered(driver: Driver) -> None:
    """No standing row with `durable=False`."""
    leader = Leader(driver, job(id="ticks", durable=False))
    leader.turn()
    leader.turn(60)
    assert planned(driver) == [60]
    assert inserted(driver, "python_state") == []


@pytest.mark.postgres
def test_the_memory_is_found_by_an_index(postgres_driver: Driver) -> None:
    """Neither reading it nor looking for the newest row walks the table."""
    sql = postgres_driver.sql
    settled, newest = (
        periodic.periodic_get_settled(sql, ["ticks"]),
        periodic.periodic_get_newest(sql, "ticks"),
    )
    for statement, index in ((settled, "river_job_unique_idx"), (newest, "river_job_metadata_index")):
        with postgres_driver.connect() as connection, connection.transaction():
            connection.run_script("SET LOCAL enable_seqscan = off")
            plan = connection.fetch(replace(statement, sql=f"EXPLAIN {statement.sql}"))
        text = "\n".join(line for (line,) in plan)
        assert index in text, text


# -- with threads


@contextmanager
def candidate(driver: Driver, name: str, jobs: Sequence[PeriodicJob]) -> Iterator[Elector]:
    """An elector and its services, with threads and the system's clock."""
    services = MaintenanceServices(
        driver, Registry(), client=Client(driver), periodic_jobs=PeriodicJobs(jobs)
    )
    elector = Elector(driver, name, None, services.start, services.stop, timing=QUICK)
    elector.start()
    try:
        yield elector
    finally:
        elector.stop()


def test_two_candidates_insert_each_run_once(driver: Driver) -> None:
    """Over a change of leaders every second gets one row, and the rows go on."""
    every_second = [job("tick", CronSchedule("@every 1s"), id="ticks", catch_up=True)]
    with candidate(driver, "one", every_second) as first, candidate(driver, "two", every_second) as second:
        wait_for(lambda: len(planned(driver)) >= 2, "two runs")
        (first if first.leading else second).stop()
        before = len(planned(driver))
        wait_for(lambda: len(planned(driver)) >= before + 2, "two runs under the next leader")
    times = planned(driver)
    assert all(earlier < later for earlier, later in pairwise(times)), times


def test_a_worker_inserts_and_works_its_periodic_jobs(driver: Driver) -> None:
    """Those of its configuration, and those added while it leads. Checklist 142."""
    done = {"configured": threading.Event(), "added": threading.Event()}
    tasks = registry(**{kind: lambda job, event=event: event.set() for kind, event in done.items()})
    configured = job("configured", IntervalSchedule(3600), id="configured", run_on_start=True)
    with running(driver, tasks, periodic_jobs=[configured]) as worker:
        assert done["configured"].wait(60)
        worker.periodic_jobs.add(job("added", IntervalSchedule(3600), run_on_start=True))
        assert done["added"].wait(60)
    [row] = inserted(driver, "configured")
    assert row.metadata["river:periodic_job_id"] == "configured"


class Watching(Plugin):
    """Notes inserts and starts; raises as long as `errors` has any."""

    def __init__(self, *errors: Exception) -> None:
        self.calls: list[str] = []
        self.errors = list(errors)

    def insert_many(self, params: list[InsertParams], operation: InsertOperation) -> list[InsertResult]:
        self.calls.append(f"around {len(params)}")
        return operation(params)

    def insert_begin(self, params: InsertParams) -> InsertParams:
        if self.errors:
            raise self.errors.pop()
        return replace(params, priority=3)

    def insert_end(self, result: InsertResult) -> None:
        self.calls.append(f"written {result.job.kind}")

    def periodic_jobs_start(self) -> None:
        self.calls.append("start")
        if self.errors:
            raise self.errors.pop()


def test_plugins_see_periodic_inserts(driver: Driver) -> None:
    """One call for all that are due; what a hook changes is written. River's protocol, section 16."""
    plugin, clock = Watching(), FixedClock()
    client = Client(driver, clock=clock, plugins=[plugin])
    leader = Leader(driver, job(id="tick"), job("tock"), clock=clock, client=client)
    leader.turn()
    leader.turn(60)
    assert plugin.calls == ["around 2", "written tick", "written tock"]
    assert [row.priority for kind in ("tick", "tock") for row in inserted(driver, kind)] == [3, 3]


def test_a_run_that_a_plugin_refuses_stays_due(driver: Driver) -> None:
    """Neither the row nor the memory of the run is left; the next turn inserts it."""
    plugin, clock = Watching(), FixedClock()
    client = Client(driver, clock=clock, plugins=[plugin])
    leader = Leader(driver, job(id="tick"), clock=clock, client=client)
    leader.turn()
    plugin.errors.append(PermissionError("not this one"))
    assert leader.turn(60) == RETRY_SECONDS
    assert planned(driver) == []
    leader.turn(1)
    assert planned(driver) == [60]


def test_plugins_are_told_when_a_leader_begins(driver: Driver) -> None:
    """`periodic_jobs_start`: raising prevents the start of maintenance, which is then tried again."""
    plugin = Watching(RuntimeError("not yet"))
    start = job(schedule=IntervalSchedule(3600), run_on_start=True)
    with running(driver, registry(tick=lambda job: None), periodic_jobs=[start], plugins=[plugin]):
        [row] = wait_for(lambda: inserted(driver), "the run on start")
    assert row.priority == 3
    assert plugin.calls == ["start", "start", "around 1", "written tick"]


def test_only_the_leader_inserts(driver: Driver) -> None:
    """A follower's jobs wait."""
    with candidate(driver, "one", []) as first:
        wait_for(lambda: first.leading, "the election")
        with candidate(driver, "two", [job(run_on_start=True)]) as second:
            wait_for(lambda: not second.leading and second.alive, "the follower's start")
            assert inserted(driver) == []
            first.stop()
            wait_for(lambda: inserted(driver), "the run on start of the next leader")
