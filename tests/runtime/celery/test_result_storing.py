"""Results that are stored by hand, for how long results are kept, and eager results that are stored."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from river_compat.celery import Celery, chord
from river_compat.celery.exceptions import ImproperlyConfigured, UnsupportedFeature
from river_compat.celery.retention import kept_results
from river_compat.expired import Kept
from river_core.job import JobState
from tests.runtime.celery.conftest import Working
from tests.runtime.celery.rows import rows_of
from tests.runtime.workers import wait_for

TIMEOUT = 60


def test_a_stored_result_is_read_by_its_id(app: Celery) -> None:
    """In a finished row of its own, which retention takes away."""
    backend = app.backend
    backend.store_result("good", {"z": 1, "a": -0.0}, "SUCCESS")
    backend.mark_as_failure("bad", KeyError("k"), "the trace")
    backend.mark_as_revoked("gone", "by hand")
    backend.store_result("on its way", {"done": 1}, "PROGRESS")
    assert repr(app.AsyncResult("good").get(timeout=0)) == "{'z': 1, 'a': -0.0}"
    bad, gone = app.AsyncResult("bad"), app.AsyncResult("gone")
    assert (bad.state, repr(bad.result), bad.traceback) == ("FAILURE", "KeyError('k')", "the trace")
    assert (gone.state, gone.ready(), gone.failed()) == ("REVOKED", True, False)
    assert (backend.get_state("on its way"), backend.get_result("on its way")) == ("PROGRESS", {"done": 1})
    states = [rows_of(app, task_id)[0].state for task_id in ("good", "bad", "gone")]
    assert states == [JobState.COMPLETED, JobState.DISCARDED, JobState.CANCELLED]
    assert all(rows_of(app, task_id)[0].finalized_at for task_id in ("good", "bad", "gone", "on its way"))


def test_the_first_success_wins(app: Celery, working: Working) -> None:
    """Whether a run gave it or somebody stored it."""
    one = app.task(lambda: 1, name="one", shared=False)
    with working():
        ran = one.delay()
        assert ran.get(timeout=TIMEOUT) == 1
    app.backend.store_result(ran.id, ValueError("late"), "FAILURE")
    app.backend.store_result(ran.id, 2, "SUCCESS")
    assert app.AsyncResult(ran.id).get(timeout=0) == 1
    app.backend.mark_as_done("by hand", "first")
    app.backend.mark_as_done("by hand", "second")
    app.backend.mark_as_failure("by hand", ValueError("late"))
    assert app.AsyncResult("by hand").get(timeout=0) == "first"


def test_a_failure_gives_way_to_what_is_stored_later(app: Celery, working: Working) -> None:
    """As in Celery, where only success is final."""
    fail = app.task(lambda: 1 / 0, name="fail", shared=False)
    with working():
        result = fail.delay()
        assert isinstance(result.get(timeout=TIMEOUT, propagate=False), ZeroDivisionError)
    app.backend.mark_as_done(result.id, "mended")
    assert app.AsyncResult(result.id).get(timeout=0) == "mended"


def test_a_running_task_stores_its_own_success(app: Celery, working: Working) -> None:
    """Others read it at once, and what the run ends with does not change it."""
    go = threading.Event()

    @app.task(bind=True, shared=False)
    def early(self):
        self.backend.store_result(self.request.id, "early", "SUCCESS", request=self.request)
        go.wait(TIMEOUT)
        raise ValueError("late")

    with working():
        result = early.delay()
        assert result.get(timeout=TIMEOUT) == "early"
        assert rows_of(app, result.id)[0].state is JobState.RUNNING
        go.set()
        wait_for(lambda: rows_of(app, result.id)[0].state is JobState.DISCARDED, "the end of the run")
    assert app.AsyncResult(result.id).state == "SUCCESS"


def test_a_state_of_an_exception_is_read_as_one(app: Celery, working: Working) -> None:
    """update_state(FAILURE) with the facts of an exception, and Ignore."""
    from river_compat.celery.exceptions import Ignore

    @app.task(bind=True, shared=False)
    def told(self):
        facts = {"exc_type": "KeyError", "exc_module": "builtins", "exc_message": ["k"]}
        self.update_state(state="FAILURE", meta=facts)
        raise Ignore

    with working():
        result = told.delay()
        wait_for(result.ready, "the state")
    with pytest.raises(KeyError, match="k"):
        result.get(timeout=TIMEOUT)


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({}, Kept(86_400.0, 7 * 86_400.0)),
        ({"result_expires": 60}, Kept(60.0, 60.0)),
        ({"result_expires": timedelta(hours=1)}, Kept(3_600.0, 3_600.0)),
        ({"result_expires": 0}, Kept(None, None)),
        ({"result_expires": None}, Kept(None, None)),
        ({"result_expires": 60, "result_failure_expires": 600}, Kept(60.0, 600.0)),
        ({"result_failure_expires": 0}, Kept(86_400.0, None)),
    ],
)
def test_settings_say_how_long_results_are_kept(app: Celery, settings: dict[str, Any], kept: Kept) -> None:
    """0 and None keep them."""
    app.conf.update(settings)
    assert kept_results(app.conf) == kept


@pytest.mark.parametrize("value", [-1, "a day"])
def test_other_times_are_refused(app: Celery, value: Any) -> None:
    """Before a worker starts."""
    app.conf.result_expires = value
    with pytest.raises(ImproperlyConfigured, match="result_expires"):
        kept_results(app.conf)


def test_expired_results_go_and_unfinished_tasks_stay(app: Celery, working: Working) -> None:
    """By any worker, or by cleanup(); nothing that waits or runs is touched."""
    app.backend.mark_as_done("old", 1)
    app.backend.mark_as_failure("old failure", ValueError("x"))
    waiting = app.send_task("any")
    app.conf.result_expires = 3600
    app.backend.cleanup()
    assert app.AsyncResult("old").exists()
    app.conf.result_expires = 0.001
    app.conf.result_failure_expires = 3600
    wait_for(lambda: app.backend.cleanup() or not app.AsyncResult("old").exists(), "the end of its time")
    assert app.AsyncResult("old failure").exists()
    assert waiting.exists()
    app.conf.result_expires = 0
    app.backend.mark_as_done("kept", 1)
    app.backend.cleanup()
    assert app.AsyncResult("kept").exists()


def test_a_worker_deletes_what_has_expired(app: Celery, working: Working) -> None:
    """Without beat."""
    app.conf.result_expires = 1
    app.backend.mark_as_done("old", 1)
    with working() as worker:
        assert [type(item).__name__ for item in worker.config.maintenance_services] == ["ExpiredResults"]
        assert worker.config.completed_job_retention_period == 86_400.0
        [service] = worker.config.maintenance_services

    def clean() -> bool:
        service.run(app.runtime.client, app.runtime.driver, datetime.now(UTC))
        return not app.AsyncResult("old").exists()

    wait_for(clean, "the end of its time")


def test_a_row_is_deleted_with_its_success(app: Celery, working: Working) -> None:
    """Where the task asks for it and its result is ignored; a failure stays to be seen."""

    @app.task(shared=False, ignore_result=True, river_delete_row=True)
    def quick(fail):
        if fail:
            raise ValueError("seen")

    with working():
        good, bad = quick.delay(False), quick.delay(True)
        assert (good.get(timeout=TIMEOUT), good.ignored) == (None, True)
        wait_for(lambda: rows_of(app, good.id) == [], "the deletion")
        wait_for(lambda: rows_of(app, bad.id)[0].state is JobState.DISCARDED, "the failure")


def test_only_ignored_results_can_be_deleted(app: Celery) -> None:
    """Somebody could wait for ever."""
    app.task(lambda: 1, name="one", river_delete_row=True, shared=False)
    with pytest.raises(ImproperlyConfigured, match="ignore_result"):
        _ = app.tasks


def test_eager_results_are_stored_if_wanted(app: Celery) -> None:
    """With their exceptions, and the arguments of the call."""
    app.conf.task_store_eager_result = True

    @app.task(shared=False)
    def divide(x, y):
        return x / y

    app.conf.task_always_eager = True
    plain = app.task(lambda: 1, name="plain", shared=False, store_eager_result=False)
    assert not app.AsyncResult(plain.delay().id).exists()
    good, bad = divide.delay(4, y=2), divide.delay(4, 0)
    assert app.AsyncResult(good.id).get(timeout=0) == 2
    stored = app.AsyncResult(bad.id)
    assert (stored.state, type(stored.result), stored.args) == ("FAILURE", ZeroDivisionError, [4, 0])
    assert divide.apply_async((1, 1), ignore_result=True).get() == 1
    unseen = divide.apply_async((1, 1), ignore_result=True)
    assert not app.AsyncResult(unseen.id).exists()


@pytest.mark.parametrize("backend", ["proj.results:Backend", "redis://h"])
def test_a_result_store_that_nothing_replaces_is_refused(backend: str) -> None:
    """With the way out."""
    with pytest.raises(UnsupportedFeature, match="delete"):
        _ = Celery("refused", backend=backend, set_as_current=False).runtime.driver


@pytest.mark.parametrize("backend", [None, "sqlite:///results.db", "river://", "postgresql://h/results"])
def test_a_database_or_nothing_is_accepted(backend: str | None) -> None:
    """Results are in the tasks' rows."""
    app = Celery("accepted", backend=backend, broker="sqlite:///some.db", set_as_current=False)
    assert app.runtime.driver is not None
    app.close()


def test_djangos_result_store_is_warned_about() -> None:
    """Its admin pages will show nothing new."""
    app = Celery("django", backend="django-db", broker="sqlite:///some.db", set_as_current=False)
    with pytest.warns(UserWarning, match="django_celery_results"):
        _ = app.runtime.driver
    app.close()


@pytest.mark.parametrize("never", [0, None])
def test_results_that_never_expire_let_chords_end(app: Celery, working: Working, never: int | None) -> None:
    """Open case O13. 0 and None keep results; a chord ends, and its result is there after a clean-up."""
    app.conf.result_expires = never
    add = app.task(lambda x, y: x + y, name="add", shared=False)
    total = app.task(sum, name="total", shared=False)
    with working():
        result = chord([add.s(1, 1), add.s(2, 2)], total.s(), app=app)()
        assert result.get(timeout=60) == 6
        app.backend.cleanup()
        assert app.AsyncResult(result.id).get(timeout=60) == 6
