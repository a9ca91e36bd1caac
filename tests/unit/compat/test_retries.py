"""Retry formulae and inheritance, beside the installed Celery where that is pure."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from typing import Any

import celery
import pytest
from celery.utils.time import get_exponential_backoff_interval as theirs
from hypothesis import given
from hypothesis import strategies as st

from river_compat.celery import Celery, Task
from river_compat.celery.exceptions import CDeprecationWarning, CeleryWarning, MaxRetriesExceededError, Retry
from river_compat.celery.retries import get_exponential_backoff_interval, merged_arguments
from river_compat.celery.successor import scheduled_rows
from river_core import clock

counts = st.integers(0, 40)


@given(st.integers(0, 5000), counts, st.integers(0, 5000), st.booleans(), st.integers())
def test_backoff_is_celerys(factor: int, retries: int, maximum: int, jitter: bool, seed: int) -> None:
    """The same whole number from the same random numbers. Rows 5.10, 5.12."""
    random.seed(seed)
    expected = theirs(factor, retries, maximum, jitter)
    random.seed(seed)
    assert get_exponential_backoff_interval(factor, retries, maximum, jitter) == expected


def test_backoff_stops_at_the_cap() -> None:
    """Factor 10 without jitter."""
    waits = [get_exponential_backoff_interval(10, retries, 600) for retries in range(8)]
    assert waits == [10, 20, 40, 80, 160, 320, 600, 600]


def plain(x, y=2):
    pass


def only_positional(x, /, y):
    pass


def variadic(*args, **kwargs):
    pass


CASES = [
    (run, inherited, given_)
    for run in (plain, only_positional, variadic)
    for inherited in (((1, 2), {}), ((1,), {"y": 2}), ((), {"x": 1, "y": 2}))
    for given_ in (
        (None, None),
        ((7,), None),
        ((7, 8), None),
        (None, {"y": 9}),
        (None, {"x": 9}),
        ((7,), {"y": 9}),
    )
]


@pytest.mark.parametrize(("run", "inherited", "given_"), CASES)
def test_the_next_runs_arguments_are_celerys(run: Any, inherited: Any, given_: Any) -> None:
    """For every way to give some of them anew."""
    app = celery.Celery("merge", set_as_current=False)
    task = app.task(run, shared=False, name="t")
    task.push_request(args=inherited[0], kwargs=inherited[1], called_directly=False, is_eager=True, id="1")
    retry = task.retry(args=given_[0], kwargs=given_[1], throw=False)
    args, kwargs = merged_arguments(run, inherited, given_)
    assert (tuple(args), dict(kwargs)) == (tuple(retry.sig.args), dict(retry.sig.kwargs))


def eager() -> Celery:
    """An application whose tasks run in place."""
    return Celery("retries", set_as_current=False, task_always_eager=True)


def test_three_retries_are_four_runs() -> None:
    """Then the given exception. Row 5.2."""
    app, runs = eager(), []

    @app.task(bind=True, shared=False)
    def flaky(self):
        runs.append(self.request.retries)
        raise self.retry(exc=ValueError("gave up"))

    with pytest.raises(ValueError, match="gave up"):
        flaky.delay().get()
    assert runs == [0, 1, 2, 3]


def test_without_an_exception_the_limit_raises_its_own() -> None:
    """With the arguments of the call."""
    app = eager()

    @app.task(bind=True, shared=False, max_retries=0)
    def flaky(self, x):
        raise self.retry()

    with pytest.raises(MaxRetriesExceededError) as caught:
        flaky.delay(5).get()
    assert caught.value.task_args == (5,)


def test_autoretry_passes_what_it_must() -> None:
    """Listed errors retry, excepted and other ones fail at once. Row 5.9."""
    app, runs = eager(), []

    @app.task(shared=False, autoretry_for=(OSError,), dont_autoretry_for=(FileNotFoundError,), max_retries=2)
    def work(kind):
        runs.append(kind)
        raise {"listed": OSError, "excepted": FileNotFoundError, "other": KeyError}[kind]("x")

    for kind, error, count in (
        ("listed", OSError, 3),
        ("excepted", FileNotFoundError, 1),
        ("other", KeyError, 1),
    ):
        runs.clear()
        with pytest.raises(error):
            work.delay(kind).get()
        assert len(runs) == count


def test_the_limit_of_one_call_is_not_left_on_the_task() -> None:
    """Celery leaves `override_max_retries` on the shared instance. Row 5.15."""
    app = eager()

    @app.task(bind=True, shared=False, autoretry_for=(ValueError,))
    def flaky(self):
        if self.request.retries == 0:
            self.retry(max_retries=1, exc=ValueError("first"))
        raise ValueError("second")

    with pytest.raises(ValueError, match="second"):
        flaky.delay().get()
    assert flaky.max_retries == 3
    assert not hasattr(flaky, "override_max_retries")


def test_a_factor_above_the_cap_is_warned_about() -> None:
    """At definition: Celery cuts it in silence. Row 5.11."""
    app = eager()
    with pytest.warns(CeleryWarning, match="retry_backoff_max=600"):
        app.task(
            lambda: None, shared=False, lazy=False, name="t", autoretry_for=(OSError,), retry_backoff=3600
        )


def test_called_as_a_function_it_raises_and_schedules_nothing() -> None:
    """There is no worker that could run it again. Row 5.3."""
    app = eager()

    @app.task(bind=True, shared=False)
    def flaky(self):
        self.retry(exc=ValueError("plain"))

    with pytest.raises(ValueError, match="plain"):
        flaky()


def test_throw_false_returns_the_retry() -> None:
    """And the body goes on. Row 5.4."""
    app = eager()

    @app.task(bind=True, shared=False)
    def careful(self):
        return type(self.retry(throw=False, countdown=4)).__name__

    assert careful.delay().get() == Retry.__name__


@pytest.mark.parametrize(
    ("options", "call", "when"),
    [
        ({}, {}, 180),
        ({"default_retry_delay": 7}, {}, 7),
        ({"default_retry_delay": 7}, {"countdown": 4}, 4),
        ({"default_retry_delay": 7}, {"countdown": 0}, 0),
    ],
)
def test_when_a_retry_is_due(options: dict[str, Any], call: dict[str, Any], when: int) -> None:
    """Row 2.5. By the call, else by the task, else after three minutes: in what is told, and in the row."""
    with Celery("due", set_as_current=False) as app:
        task = app.task(lambda: None, name="due", shared=False, **options)
        task.push_request(id="i", args=(), kwargs={}, called_directly=False)
        try:
            before = clock.now()
            retry = task.retry(throw=False, **call)
            [row] = scheduled_rows(task.request)
        finally:
            task.pop_request()
    assert retry.when == when
    due = row.scheduled_at or clock.now()
    assert before <= due - timedelta(seconds=when) <= clock.now()


def test_a_retry_goes_through_apply_async() -> None:
    """So that what libraries add there, headers above all, is added to retries too. Row 22.8."""
    seen: list[Any] = []

    class Wrapped(Task):  # type: ignore[type-arg]
        def apply_async(self, args: Any = None, kwargs: Any = None, **options: Any) -> Any:
            seen.append((args, kwargs, options["task_id"], options["retries"], options["shadow"]))
            headers = {**(options.pop("headers", None) or {}), "trace": "t"}
            return super().apply_async(args, kwargs, headers=headers, **options)

    with Celery("wrapped", set_as_current=False) as app:
        task = app.task(lambda x: x, base=Wrapped, name="wrapped", shared=False)
        task.push_request(id="i", args=(1,), kwargs={}, called_directly=False, shadow="other")
        try:
            retry = task.retry(throw=False, countdown=3, kwargs={"x": 2})
            [row] = scheduled_rows(task.request)
        finally:
            task.pop_request()
    assert seen == [((2,), {}, "i", 1, "other")]
    headers = json.loads(json.loads(row.encoded_args)["task"]["headers"])
    assert (headers["headers"], headers["retries"], headers["shadow"]) == ({"trace": "t"}, 1, "other")
    assert retry.when == 3


def test_a_routing_attribute_is_warned_about_as_in_celery() -> None:
    """It goes on to count."""
    with Celery("routed", set_as_current=False) as app:
        with pytest.warns(CDeprecationWarning, match="The 'queue' task attribute is deprecated"):
            task = app.task(lambda: None, name="routed", queue="q", shared=False, lazy=False)
        assert task.queue == "q"
