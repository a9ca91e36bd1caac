"""At most one client leads; a term is renewed, lost, resigned and handed over as River does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from river_core.client import Client
from river_core.db import leaders
from river_core.db.leaders import Term
from river_core.drivers.base import Connection, Driver
from river_core.errors import ConfigurationError, OperationalError
from river_core.insert import EncodedArgs
from river_core.job import JobState
from river_core.notifier import TOPIC_LEADERSHIP, Notifier
from river_core.periodic import PeriodicJob
from river_core.schedule import IntervalSchedule
from river_core.task import Registry
from river_core.worker.config import WorkerConfig
from river_core.worker.elector import ElectionTiming, Elector
from river_core.worker.maintenance.group import MaintenanceServices
from tests.runtime.stored import FixedClock, Steady, run
from tests.runtime.workers import insert, next_event, registry, row, running, wait_for

QUICK = ElectionTiming(interval=0.2, ttl=60.0, safety=0.5, bid_jitter=0.05)
RIVER = ElectionTiming()


class Candidate:
    """An elector without a thread, on clocks that stand still, and what it called."""

    def __init__(self, driver: Driver, name: str, clock: FixedClock | None = None, **options: Any) -> None:
        self.calls: list[str] = []
        self.clock = clock or FixedClock()
        self.steady = Steady()
        self.elector = Elector(
            driver,
            name,
            None,
            lambda: self.calls.append("elected"),
            lambda: self.calls.append("lost"),
            clock=self.clock,
            monotonic=self.steady,
            **options,
        )

    def move(self, seconds: float) -> None:
        """Let time pass, here and in the database."""
        self.clock.move(seconds)
        self.steady.seconds += seconds


class Failing:
    """A driver whose database is out of reach while `down`."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.sql = driver.sql
        self.down = False

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Lend a connection, or fail as a driver does."""
        if self.down:
            raise OperationalError("the database is out of reach")
        with self._driver.connect() as connection:
            yield connection


def leader(driver: Driver) -> str | None:
    rows = run(driver, "SELECT leader_id FROM river_leader")
    return rows[0][0] if rows else None


def heard(driver: Driver, listener: Any) -> list[dict[str, Any]]:
    return [json.loads(notification.payload) for notification in listener.wait(60)]


def test_the_first_bid_wins_and_the_second_does_not(driver: Driver) -> None:
    """Checklist 128. Only the winner is told; the follower looks again in 5 to 6 seconds."""
    first, second = Candidate(driver, "one"), Candidate(driver, "two")
    assert first.elector.run_once() == 5.0
    assert 5.0 <= second.elector.run_once() <= 6.0
    assert (first.calls, second.calls) == (["elected"], [])
    assert (first.elector.leading, second.elector.leading) == (True, False)
    assert leader(driver) == "one"


def test_a_term_lasts_fifteen_seconds_and_each_renewal_prolongs_it(driver: Driver) -> None:
    """While it is renewed nobody else wins, however long that is; 15 s after the last one somebody does.

    Checklist 128.
    """
    clock = FixedClock()
    first, second = Candidate(driver, "one", clock), Candidate(driver, "two", clock)
    first.elector.run_once()
    for _ in range(5):
        first.move(5)
        first.elector.run_once()
        second.elector.run_once()
    assert leader(driver) == "one"
    clock.move(14.9)
    second.elector.run_once()
    assert leader(driver) == "one"
    clock.move(0.2)
    second.elector.run_once()
    assert leader(driver) == "two"


def test_a_leader_whose_term_is_gone_steps_down_and_leaves_the_new_one_alone(driver: Driver) -> None:
    """It stops its services and does not delete the other's term."""
    clock = FixedClock()
    first, second = Candidate(driver, "one", clock), Candidate(driver, "two", clock)
    first.elector.run_once()
    clock.move(16)
    second.elector.run_once()
    first.elector.run_once()
    assert first.calls == ["elected", "lost"]
    assert leader(driver) == "two"


@pytest.mark.parametrize("foreign", ["leader_id", "elected_at"])
def test_only_its_own_term_is_renewed_or_resigned(driver: Driver, foreign: str) -> None:
    """Checklist 129. Another client's term, and a newer one of the same client, stay as they are."""
    sql = driver.sql
    with driver.connect() as connection:
        [(elected_at,)] = connection.fetch(leaders.leader_attempt_elect(sql, "one", 15))
        term = leaders.decode_term("one", elected_at)
        other = Term("two", term.elected_at)
        if foreign == "elected_at":
            other = Term("one", str(sql.time(FixedClock().now())))
        assert connection.fetch(leaders.leader_attempt_reelect(sql, other, 15, 5)) == []
        assert connection.fetch(leaders.leader_resign(sql, other)) == []
        assert connection.fetch(leaders.leader_attempt_reelect(sql, term, 15, 5))
        assert connection.fetch(leaders.leader_resign(sql, term))


def test_an_expired_term_is_not_renewed(driver: Driver) -> None:
    """Checklist 129. Even where nobody else took it."""
    candidate = Candidate(driver, "one")
    candidate.elector.run_once()
    candidate.clock.move(15.1)
    candidate.elector.run_once()
    assert candidate.calls == ["elected", "lost"]


def test_the_time_of_terms_is_the_databases_by_default(driver: Driver) -> None:
    """Without a clock of its own an elector bids, renews and resigns."""
    elector = Elector(driver, "one", None, lambda: None, lambda: None)
    elector.run_once()
    elector.run_once()
    assert elector.leading
    with driver.connect() as connection:
        assert connection.fetch(leaders.leader_get_elected(driver.sql))[0][0] == "one"
    elector.on_stop()
    assert leader(driver) is None


def test_trust_survives_a_short_outage(driver: Driver) -> None:
    """Failed renewals are tried again after 1, 2 and 4 seconds while the term is trusted."""
    failing = Failing(driver)
    candidate = Candidate(failing, "one")  # type: ignore[arg-type]  # what the elector uses of a driver
    candidate.elector.run_once()
    failing.down = True
    candidate.move(5)
    delays = [candidate.elector.run_once() for _ in range(4)]
    assert [round(delay) for delay in delays] == [1, 2, 4, 1]
    assert candidate.elector.leading
    failing.down = False
    assert candidate.elector.run_once() == 5.0
    assert candidate.calls == ["elected"]


def test_trust_ends_one_second_before_the_term(driver: Driver) -> None:
    """Without a renewal for 14 seconds the leader stops its services by itself."""
    failing = Failing(driver)
    candidate = Candidate(failing, "one")  # type: ignore[arg-type]  # what the elector uses of a driver
    candidate.elector.run_once()
    failing.down = True
    candidate.move(13.9)
    assert candidate.elector.run_once() == pytest.approx(0.1)
    assert candidate.elector.leading
    candidate.move(0.1)
    assert not candidate.elector.leading
    candidate.elector.run_once()
    assert candidate.calls == ["elected", "lost"]


def test_services_that_do_not_start_end_the_term(driver: Driver) -> None:
    """Somebody else gets the chance."""

    def fail() -> None:
        raise RuntimeError("no thread can be started")

    stopped: list[int] = []
    elector = Elector(driver, "one", None, fail, lambda: stopped.append(1))
    elector.ask_stop()  # the pauses between the tries end at once
    elector.run_once()
    assert stopped
    assert leader(driver) is None


def test_resigning_says_so(driver: Driver) -> None:
    """The notification carries the leader's id and the action, and only when the term was deleted.

    Checklist 52, 129.
    """
    candidate = Candidate(driver, "one")
    candidate.elector.run_once()
    listener = driver.listen([TOPIC_LEADERSHIP])
    try:
        candidate.elector.on_stop()
        assert heard(driver, listener) == [{"leader_id": "one", "action": "resigned"}]
    finally:
        listener.close()
    assert candidate.calls == ["elected", "lost"]


def test_a_request_to_resign_moves_leadership_on(driver: Driver) -> None:
    """The leader steps down and does not bid for one interval."""
    clock = FixedClock()
    first, second = Candidate(driver, "one", clock), Candidate(driver, "two", clock)
    first.elector.run_once()
    first.elector.hear({"action": "request_resign", "leader_id": ""})
    second.elector.hear({"action": "request_resign", "leader_id": ""})
    first.elector.run_once()
    first.elector.run_once()
    assert leader(driver) is None
    second.elector.run_once()
    assert leader(driver) == "two"


def test_a_request_that_the_leader_before_has_obeyed_is_not_obeyed_again(driver: Driver) -> None:
    """The next leader may hear of both, request and resignation, when it leads already. Checklist 130."""
    first, second = Candidate(driver, "one"), Candidate(driver, "two")
    first.elector.run_once()
    first.elector.hear({"action": "request_resign"})
    first.elector.run_once()
    second.elector.run_once()
    for payload in ({"action": "request_resign"}, {"action": "resigned", "leader_id": "one"}):
        second.elector.hear(payload)
    second.elector.run_once()
    assert (leader(driver), second.calls) == ("two", ["elected"])


def test_messages_for_others_are_ignored(driver: Driver) -> None:
    """Its own resignation and unknown actions wake nothing."""
    candidate = Candidate(driver, "one")
    for payload in ({"action": "resigned", "leader_id": "one"}, {"action": "dance"}, {}):
        candidate.elector.hear(payload)
    assert not candidate.elector._awake.is_set()


@contextmanager
def standing(driver: Driver, name: str, calls: list[str]) -> Iterator[Elector]:
    """An elector with threads, on a notifier of its own."""
    notifier = Notifier(driver, [TOPIC_LEADERSHIP])
    elector = Elector(
        driver,
        name,
        notifier,
        lambda: calls.append(f"{name} elected"),
        lambda: calls.append(f"{name} lost"),
        timing=ElectionTiming(interval=20.0, ttl=60.0),
    )
    notifier.start()
    elector.start()
    try:
        yield elector
    finally:
        elector.stop()
        notifier.stop()


def test_a_stopping_leader_hands_over_at_once(driver: Driver) -> None:
    """The follower hears of it long before its next bid, and the old leader's services stop first.

    Checklist 128.
    """
    calls: list[str] = []
    with standing(driver, "one", calls) as first:
        wait_for(lambda: first.leading, "the first election")
        with standing(driver, "two", calls) as second:
            first.stop()
            wait_for(lambda: second.leading, "the hand-over")
            assert calls == ["one elected", "one lost", "two elected"]
    assert calls[3:] == ["two lost"]


def test_a_request_to_resign_counts_when_it_is_committed(driver: Driver) -> None:
    """A rolled-back one does nothing; a committed one moves leadership. Checklist 130."""
    client = Client(driver)
    calls: list[str] = []
    with standing(driver, "one", calls) as first:
        wait_for(lambda: first.leading, "the first election")
        with standing(driver, "two", calls) as second:
            with suppress(ZeroDivisionError), driver.connect() as connection, connection.transaction():
                client.request_resign_tx(connection.raw)
                raise ZeroDivisionError
            client.request_resign()
            wait_for(lambda: second.leading, "the hand-over")
            assert not first.leading
    assert calls[:3] == ["one elected", "one lost", "two elected"]


def test_the_leader_runs_the_services_and_stops_them(driver: Driver) -> None:
    """Elected starts them, the end of the stop finds none running, and both can happen again."""
    services = MaintenanceServices(driver, Registry())
    elector = Elector(driver, "one", None, services.start, services.stop, timing=QUICK)
    for _ in range(2):
        elector.start()
        wait_for(lambda: services.running, "the services' start")
        elector.stop()
        assert not services.running
        assert leader(driver) is None


def test_a_worker_that_never_leads(driver: Driver) -> None:
    """Checklist 131. It works jobs, leaves the leader's row alone, and takes no periodic jobs."""
    tasks = registry(quick=lambda job: None)
    with running(driver, tasks, leader_election_disabled=True) as worker:
        events = worker.events.subscribe("job_completed")
        job = insert(driver, "quick")
        assert (done := next_event(events).job) is not None
        assert done.id == job.id
        assert leader(driver) is None
        with pytest.raises(ConfigurationError, match="leader_election_disabled"):
            worker.periodic_jobs.add(PeriodicJob(IntervalSchedule(60), lambda: EncodedArgs("quick", "{}")))
        with running(driver, tasks) as other:
            wait_for(lambda: leader(driver) == other.id, "the election of the one that may")
    with pytest.raises(ConfigurationError, match="leader_election_disabled"):
        WorkerConfig(
            queues={"default": 1},
            leader_election_disabled=True,
            periodic_jobs=[PeriodicJob(IntervalSchedule(60), lambda: EncodedArgs("quick", "{}"))],
        )


def test_a_leader_promotes_a_past_time_at_once(driver: Driver) -> None:
    """Checklist 23. A job that was inserted for the past runs; one that is pending waits for ever."""
    past = datetime.now(UTC) - timedelta(hours=1)
    pending = insert(driver, "quick", pending=True, scheduled_at=past)
    scheduled = insert(driver, "quick", scheduled_at=past)
    assert scheduled.state is JobState.SCHEDULED
    ran: list[int] = []
    with running(driver, registry(quick=lambda job: ran.append(job.row.id))):
        wait_for(lambda: row(driver, scheduled.id).finalized_at, "the end of the scheduled job")
    assert ran == [scheduled.id]
    assert row(driver, pending.id) == pending
