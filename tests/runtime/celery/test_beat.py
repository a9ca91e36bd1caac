"""Beats on both databases: each tick is sent once, whoever sends it, and none is lost or made up."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from river_compat.celery import Celery
from river_compat.celery.beat import BeatLazyFunc, PersistentScheduler, ScheduleEntry, Scheduler, Service
from river_compat.celery.beat_service import EmbeddedBeat
from river_compat.celery.beat_ticks import Ticks
from river_compat.celery.exceptions import ImproperlyConfigured, UnsupportedFeature
from river_compat.celery.schedules import crontab, schedule
from river_core.client import Client
from river_core.drivers.base import Driver
from river_core.errors import OperationalError
from river_core.job import JobRow
from river_core.standing import StandingRows
from river_core.worker.maintenance.job_cleaner import JobCleaner
from tests.runtime.stored import FixedClock, read, run
from tests.runtime.workers import wait_for

START = datetime(2026, 8, 7, 14, 30, 20, tzinfo=UTC)
MINUTE, DAY = 60, 86400
COMPLETE = """
    UPDATE river_job SET state = 'completed', finalized_at = scheduled_at WHERE kind = 'python_task'
"""


class Beats:
    """Applications with one name and clock on one database, and beats of them that take turns by hand."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.clock = FixedClock(START)
        self.settings: dict[str, Any] = {}

    def app(self, name: str = "shop", **settings: Any) -> Celery:
        """An application whose clock is the test's."""
        app = Celery(name, set_as_current=False, river_driver=self.driver, **settings)
        app.now = lambda: self.clock.now().astimezone(app.timezone)  # type: ignore[method-assign]
        return app

    def beat(self, entries: dict[str, Any], app: Celery | None = None, **options: Any) -> Any:
        """A scheduler as a beat makes it."""
        app = app or self.app()
        app.conf.beat_schedule = entries
        return Service(app, **options).scheduler

    def turn(self, *schedulers: Any, seconds: float = 0) -> float:
        """Let time pass, and let each scheduler send what is due; return the shortest wait."""
        self.clock.move(seconds)
        waits = []
        for scheduler in schedulers:
            while (wait := scheduler.tick()) <= 0:
                pass
            waits.append(wait)
        return min(waits)

    def sent(self, name: str | None = None) -> list[JobRow]:
        """The rows of tasks, by name, in order."""
        ids = run(self.driver, "SELECT id FROM river_job WHERE kind = 'python_task' ORDER BY id")
        rows = [read(self.driver, row_id) for (row_id,) in ids]
        return [row for row in rows if name is None or row.args["task"]["name"] == name]

    def memory(self) -> dict[str, Any]:
        """What the standing rows keep, by key."""
        return {row.key: json.loads(row.value) for row in StandingRows(self.driver).find("beat:")}


@pytest.fixture
def beats(driver: Driver) -> Beats:
    return Beats(driver)


def every(seconds: float, **fields: Any) -> dict[str, Any]:
    """An entry at an interval."""
    return {"task": "shop.tick", "schedule": seconds, **fields}


def test_three_beats_send_each_minute_once(beats: Beats) -> None:
    """Row 14.1."""
    three = [beats.beat({"minutely": {"task": "shop.tick", "schedule": crontab()}}) for _ in range(3)]
    beats.turn(*three)
    order = random.Random(14)  # noqa: S311 - no secret
    for _ in range(120):
        order.shuffle(three)
        beats.turn(*three, seconds=MINUTE)
    assert len(beats.sent("shop.tick")) == 120
    assert beats.memory()["beat:shop:minutely"]["runs"] == 120


def test_beats_share_an_interval_and_wait_for_the_same_time(beats: Beats) -> None:
    """Row 14.3."""
    one, two = (beats.beat({"often": every(10)}) for _ in range(2))
    beats.turn(one, two)
    beats.turn(one, seconds=10)
    assert beats.turn(two, seconds=3) == pytest.approx(7, abs=0.1)
    beats.turn(two, one, seconds=7)
    assert len(beats.sent()) == 2


def test_a_first_start_sends_nothing_and_a_restart_forgets_nothing(beats: Beats) -> None:
    """Rows 14.3, 14.7. Open case O23: a weekly entry of a service that is started anew each day."""
    weekly = {"weekly": every(7 * DAY)}
    for day in range(15):
        beats.turn(beats.beat(weekly))
        assert len(beats.sent()) == day // 7, f"day {day}"
        beats.clock.move(DAY)


def test_a_weekly_entry_outlives_a_month_of_restarts_and_cleaning(beats: Beats) -> None:
    """Row 14.7. A service that is started anew each day, and a cleaner that leaves nothing that has ended."""
    weekly, ran = {"weekly": every(7 * DAY)}, 0
    for day in range(36):
        beats.turn(beats.beat(weekly))
        ran += len(beats.sent())
        assert ran == day // 7, f"day {day}"
        run(beats.driver, COMPLETE)
        beats.clock.move(DAY)
        cleaner = JobCleaner(beats.driver, clock=FixedClock(beats.clock.now() + timedelta(days=366)))
        cleaner.run_once()
        assert beats.sent() == []


def test_missed_runs_are_made_up_for_once(beats: Beats) -> None:
    """Row 14.6. Open case O25."""
    entries = {"often": every(10), "hourly": {"task": "shop.hourly", "schedule": crontab(minute=0)}}
    beats.turn(beats.beat(entries))
    again = beats.beat(entries)
    beats.turn(again, seconds=DAY)
    assert [len(beats.sent(name)) for name in ("shop.tick", "shop.hourly")] == [1, 1]
    beats.turn(again, seconds=9)
    assert len(beats.sent()) == 2
    beats.turn(again, seconds=1)
    assert len(beats.sent("shop.tick")) == 2


def test_a_run_that_is_later_than_the_deadline_is_left_out(beats: Beats) -> None:
    """Row 14.6."""
    entries = {"hourly": {"task": "shop.hourly", "schedule": crontab(minute=0)}}
    beats.turn(beats.beat(entries))
    late = beats.beat(entries, beats.app(beat_cron_starting_deadline=600))
    beats.turn(late, seconds=DAY)
    assert beats.sent() == []
    beats.turn(late, seconds=30 * MINUTE)
    assert len(beats.sent()) == 1


@pytest.mark.parametrize(("late", "count"), [(4, 1), (6, 0)])
def test_a_run_that_is_past_its_expires_is_not_sent(beats: Beats, late: float, count: int) -> None:
    """Open case O25."""
    beat = beats.beat({"brief": every(60, options={"expires": 5})})
    beats.turn(beat)
    beats.turn(beat, seconds=60 + late)
    assert len(beats.sent()) == count
    assert beats.memory()["beat:shop:brief"]["runs"] == 1
    beats.turn(beat, seconds=60)
    assert len(beats.sent()) == count + 1


def test_a_crontab_that_fell_due_again_is_sent_whatever_it_missed(beats: Beats) -> None:
    nightly = {"task": "shop.tick", "schedule": crontab(0, 4), "options": {"expires": 3600}}
    beat = beats.beat({"nightly": nightly})
    beats.turn(beat)
    at_half_past_four = timedelta(days=3) + START.replace(hour=4, minute=30) - START
    beats.turn(beat, seconds=at_half_past_four.total_seconds())
    assert len(beats.sent()) == 1
    beats.turn(beat, seconds=DAY + 2 * 3600)
    assert len(beats.sent()) == 1


def test_an_entry_whose_expires_is_a_past_time_is_not_sent(beats: Beats) -> None:
    beat = beats.beat({"until": every(60, options={"expires": START + timedelta(seconds=100)})})
    beats.turn(beat)
    for _ in range(3):
        beats.turn(beat, seconds=60)
    assert len(beats.sent()) == 1


def test_what_is_sent_carries_the_mark_arguments_and_options(beats: Beats) -> None:
    """Rows 14.1, 14.9."""
    numbers = iter(range(100))
    entry = every(
        10,
        args=(1, BeatLazyFunc(next, numbers)),
        kwargs={"when": BeatLazyFunc(lambda: "now")},
        options={"queue": "slow", "headers": {"mine": 1}},
    )
    beat = beats.beat({"entry": entry})
    beats.turn(beat)
    beats.turn(beat, seconds=10)
    beats.turn(beat, seconds=10)
    first, second = beats.sent()
    assert first.queue == "slow"
    headers = json.loads(first.args["task"]["headers"])["headers"]
    assert headers == {"mine": 1, "celery_beat_task": True}
    bodies = [json.loads(row.args["task"]["body"]) for row in (first, second)]
    assert [body[:2] for body in bodies] == [[[1, 0], {"when": "now"}], [[1, 1], {"when": "now"}]]
    assert entry["options"] == {"queue": "slow", "headers": {"mine": 1}}


def test_two_applications_in_one_database_do_not_see_each_other(beats: Beats) -> None:
    """Open case O24."""
    one = beats.beat({"same": every(10, task="one.tick")}, beats.app("one"))
    two = beats.beat({"same": every(10, task="two.tick")}, beats.app("two"))
    beats.turn(one, two)
    for _ in range(3):
        beats.turn(one, two, seconds=10)
    beats.turn(two, seconds=10)
    assert [len(beats.sent(name)) for name in ("one.tick", "two.tick")] == [3, 4]


def test_a_namespace_tells_applications_of_one_name_apart(beats: Beats) -> None:
    apart = beats.beat({"same": every(10)}, beats.app(river_beat_namespace="apart"))
    beats.turn(apart)
    assert list(beats.memory()) == ["beat:apart:same"]


@contextmanager
def refusing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> Iterator[None]:
    """Let every insert of a client fail, after the last run was moved."""

    def insert(*_args: Any, **_options: Any) -> Any:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Client, "insert_for_ids", insert)
        yield


def test_what_is_due_while_the_database_is_away_is_sent_when_it_is_back(
    beats: Beats, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Row 14.13."""
    beat = beats.beat({"minutely": every(60)})
    beats.turn(beat)
    before = beats.memory()
    with refusing(monkeypatch, OperationalError("gone away")):
        beats.clock.move(60)
        assert beat.tick() == pytest.approx(2)
        assert beat.tick() == pytest.approx(2)
    assert beats.memory() == before
    assert "minutely was not sent and stays due" in caplog.text
    beats.turn(beat, seconds=5)
    assert len(beats.sent()) == 1


def test_last_runs_that_cannot_be_read_are_tried_again(beats: Beats, monkeypatch: pytest.MonkeyPatch) -> None:
    beat = beats.beat({"minutely": every(60)})
    with monkeypatch.context() as patch:

        def gone(*_args: Any) -> Any:
            raise OperationalError("gone away")

        patch.setattr(Ticks, "recall", gone)
        assert beat.tick() == pytest.approx(2)
    assert beats.turn(beat) > 50


def test_a_task_that_cannot_be_sent_is_logged_and_holds_up_no_other(
    beats: Beats, caplog: pytest.LogCaptureFixture
) -> None:
    """Row 14.11."""
    entries = {"bad": every(10, args=(object(),)), "good": every(10, task="shop.good")}
    one, two = beats.beat(entries), beats.beat(entries)
    beats.turn(one, two)
    beats.turn(one, two, seconds=10)
    assert [row.args["task"]["name"] for row in beats.sent()] == ["shop.good"]
    [error] = [record for record in caplog.records if record.levelname == "ERROR"]
    assert "Couldn't apply scheduled task bad" in error.getMessage()
    assert beats.memory()["beat:shop:bad"]["runs"] == 1


class Broken(schedule):
    """A schedule that cannot tell when it is due."""

    def is_due(self, last_run_at: datetime) -> Any:
        raise RuntimeError("no idea")


def test_broken_entries_are_logged_and_the_others_run(beats: Beats, caplog: pytest.LogCaptureFixture) -> None:
    """Row 14.11."""
    entries = {
        "bad": {"schedule": "every now and then"},
        "worse": None,
        "broken": every(Broken(1)),  # type: ignore[arg-type]
        "good": every(10),
    }
    beat = beats.beat(entries)
    beats.turn(beat)
    beats.turn(beat, seconds=10)
    assert len(beats.sent()) == 1
    for name in ("bad", "worse"):
        assert f"the entry {name!r} of beat_schedule is broken" in caplog.text
    assert "Cannot calculate the next run of 'broken'" in caplog.text


def test_entries_that_change_while_a_beat_runs(beats: Beats) -> None:
    """Row 14.10."""
    beat = beats.beat({"stays": every(60), "goes": every(60, task="shop.gone")})
    beats.turn(beat)
    beat.app.conf.beat_schedule = {"stays": every(20), "comes": every(10, task="shop.new")}
    beat.add(name="by hand", task="shop.hand", schedule=10)
    beats.turn(beat)
    for _ in range(6):
        beats.turn(beat, seconds=10)
    names = ("shop.tick", "shop.gone", "shop.new", "shop.hand")
    assert [len(beats.sent(name)) for name in names] == [3, 0, 6, 6]


def test_a_zone_that_changes_begins_anew(beats: Beats) -> None:
    """Row 14.7."""
    daily = {"daily": {"task": "shop.tick", "schedule": crontab(0, 3)}}
    beats.turn(beats.beat(daily))
    moved = beats.beat(daily, beats.app(timezone="Asia/Tokyo"))
    beats.turn(moved, seconds=DAY)
    assert beats.sent() == []


def test_a_last_run_that_somebody_broke_counts_as_unknown(
    beats: Beats, caplog: pytest.LogCaptureFixture
) -> None:
    beats.turn(beats.beat({"minutely": every(60)}))
    StandingRows(beats.driver).put("beat:shop:minutely", "[]")
    again = beats.beat({"minutely": every(60)})
    beats.turn(again, seconds=30)
    beats.turn(again, seconds=59)
    assert beats.sent() == []
    beats.turn(again, seconds=1)
    assert len(beats.sent()) == 1
    assert "cannot be read" in caplog.text


def test_a_row_that_somebody_cancelled_is_put_back(beats: Beats) -> None:
    beat = beats.beat({"minutely": every(60)})
    beats.turn(beat)
    Client(beats.driver).job_cancel(StandingRows(beats.driver).find("beat:")[0].id)
    assert beats.memory() == {}
    again = beats.beat({"minutely": every(60)})
    beats.turn(beat, again, seconds=60)
    assert len(beats.sent()) == 1
    assert beats.memory()["beat:shop:minutely"]["runs"] == 1


def test_names_of_any_length_have_a_row(beats: Beats) -> None:
    entries = {"long" * 1000: every(10), "long" * 1001: every(10), "nul\0": every(10)}
    beat = beats.beat(entries)
    beats.turn(beat)
    beats.turn(beat, seconds=10)
    assert len(beats.sent()) == len(beats.memory()) == 3


def test_the_last_run_outlives_retention(beats: Beats) -> None:
    beats.turn(beats.beat({"yearly": every(365 * DAY)}))
    later = FixedClock(START + timedelta(days=300))
    JobCleaner(beats.driver, clock=later).run_once()
    assert list(beats.memory()) == ["beat:shop:yearly"]


class OwnStore(Scheduler):
    """Keeps last runs elsewhere, and knows nothing of other beats."""

    def setup_schedule(self) -> None:
        """Begin with what the store says."""
        self.update_from_dict(
            {"own": ScheduleEntry(task="shop.tick", name="own", schedule=10, last_run_at=START, app=self.app)}
        )


def test_beats_with_a_scheduler_of_their_own_send_each_tick_once(beats: Beats) -> None:
    """Row 14.8."""
    two = [beats.beat({}, scheduler_cls=OwnStore) for _ in range(2)]
    for _ in range(6):
        beats.turn(*two, seconds=10)
        two.reverse()
    assert len(beats.sent()) == 6


class Once(schedule):
    """Due from a time on, whenever it ran last, as the clocked schedules of django-celery-beat."""

    def remaining_estimate(self, last_run_at: datetime) -> timedelta:
        return START + timedelta(seconds=30) - self.elapsed_now()

    def is_due(self, last_run_at: datetime) -> tuple[bool, float]:
        left = self.remaining_estimate(last_run_at).total_seconds()
        return (True, 1e9) if left <= 0 else (False, left)


def test_a_schedule_that_does_not_look_at_the_last_run_is_sent_once(beats: Beats) -> None:
    two = [beats.beat({"once": every(Once(1))}) for _ in range(2)]  # type: ignore[arg-type]
    beats.turn(*two)
    beats.turn(two[0], seconds=40)
    two[1].tick()
    assert len(beats.sent()) == 1


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ("redbeat.RedBeatScheduler", UnsupportedFeature, "Redis.*beat_schedule"),
        ("redbeat.schedulers:RedBeatScheduler", UnsupportedFeature, "redbeat"),
        ("nowhere.at:All", ImproperlyConfigured, "cannot be imported"),
        ("collections:OrderedDict", ImproperlyConfigured, "no Scheduler"),
    ],
)
def test_schedulers_that_cannot_work_are_refused_by_name(
    beats: Beats, given: str, error: type[Exception], words: str
) -> None:
    """Row 14.8. Open case O26."""
    with pytest.raises(error, match=words):
        beats.beat({}, beats.app(beat_scheduler=given))


@pytest.mark.parametrize("given", ["celery.beat:PersistentScheduler", "celery.beat.PersistentScheduler"])
def test_celerys_own_path_means_ours(beats: Beats, given: str) -> None:
    assert isinstance(beats.beat({}, beats.app(beat_scheduler=given)), PersistentScheduler)


def test_a_beat_that_ticks_answers_pings(beats: Beats) -> None:
    """Row 14.10."""
    app = beats.app(beat_enable_remote_control=True)
    service = Service(app, hostname="probe@here")
    thread = EmbeddedBeat.of(service)
    thread.start()
    try:
        answers = wait_for(lambda: app.control.ping(timeout=2), "an answer")
        assert answers == [{"probe@here": {"ok": "pong"}}]
        assert app.control.ping(destination=["another@here"], timeout=0.7) == []
        app.conf.beat_remote_control_max_tick_age = 1e-9
        assert app.control.ping(timeout=0.7) == []
    finally:
        thread.stop()
