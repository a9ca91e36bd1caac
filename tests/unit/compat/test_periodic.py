"""`app.add_periodic_task`, and the beat as a program of the application."""

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from river_compat.celery import Celery
from river_compat.celery.exceptions import ImproperlyConfigured
from river_compat.celery.signals import beat_init


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Celery]:
    with Celery("shop", broker=f"sqlite:///{tmp_path}/none.db", set_as_current=False) as made:
        yield made


def test_entries_wait_for_the_settings_and_join_them(app: Celery) -> None:
    """Row 14.5. What `config_from_object` names later is not lost, and neither is what the code added."""
    task = app.task(lambda: None, name="shop.tick", shared=False)
    app.add_periodic_task(10, task, name="added")
    app.config_from_object({"beat_schedule": {"configured": {"task": "shop.tick", "schedule": 5}}})
    assert set(app.conf.beat_schedule) == {"added", "configured"}
    app.conf.beat_schedule["by hand"] = {"task": "shop.tick", "schedule": 1}
    assert set(app.conf.beat_schedule) == {"added", "configured", "by hand"}


def test_two_applications_share_no_default(app: Celery) -> None:
    app.conf.beat_schedule["mine"] = {"task": "shop.tick", "schedule": 1}
    with Celery("other", set_as_current=False) as other:
        assert other.conf.beat_schedule == {}


def test_the_same_call_twice_warns_and_the_later_counts(
    app: Celery, caplog: pytest.LogCaptureFixture
) -> None:
    """Row 14.5."""
    task = app.task(lambda x: x, name="shop.tick", shared=False)
    assert app.add_periodic_task(10, task, (1,), {"y": 2}) == "shop.tick(1, y=2)"
    with caplog.at_level(logging.WARNING):
        app.add_periodic_task(20, task, (1,), {"y": 2}, expires=3)
    assert "shop.tick(1, y=2)" in caplog.text
    [entry] = app.conf.beat_schedule.values()
    assert (entry["schedule"], entry["options"]) == (20, {"expires": 3})


def test_a_schedule_that_is_no_dict_is_refused_by_name(app: Celery) -> None:
    app.conf.beat_schedule = [1]
    with pytest.raises(ImproperlyConfigured, match=r"beat_schedule is a dict.*\[1\]"):
        app.conf.beat_schedule  # noqa: B018 - reading is the test


def test_the_program_runs_until_it_is_stopped(app: Celery, capsys: pytest.CaptureFixture[str]) -> None:
    """Row 15.12. Its service tells `beat_init`; without a database it goes on trying."""
    begun = threading.Event()
    beat_init.connect(lambda **_: begun.set(), weak=False, dispatch_uid="test_periodic")
    app.conf.beat_schedule = {"a": {"task": "shop.tick", "schedule": 60}}
    program = app.Beat(loglevel=None, max_interval=1)
    thread = threading.Thread(target=program.run)
    thread.start()
    try:
        assert begun.wait(60)
    finally:
        program.stop()
        thread.join(60)
        beat_init.disconnect(dispatch_uid="test_periodic")
    assert not thread.is_alive()
    assert "entries -> 1" in capsys.readouterr().out
