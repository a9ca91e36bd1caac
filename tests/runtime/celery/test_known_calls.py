"""Calls that are made after an earlier one of their task have the rows of the ordinary way."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import kombu.serialization
import pytest
from kombu.entity import Queue
from kombu.exceptions import EncodeError

from river_compat.celery import Celery, _state, known_calls, signals
from river_compat.celery.request import Context
from river_core import join
from river_core.client import Client
from river_core.drivers.base import Driver
from tests.runtime.celery.rows import ARGUMENTS, TASK_ID
from tests.runtime.celery.test_transactions import open_connection


@pytest.fixture(autouse=True)
def _unheard(monkeypatch: pytest.MonkeyPatch) -> None:
    for signal in (signals.before_task_publish, signals.after_task_publish, signals.task_sent):
        monkeypatch.setattr(signal, "receivers", [])  # what other tests of this process left connected


@pytest.fixture
def task(app: Celery) -> Any:
    """A task that takes anything."""
    app.conf.task_priority_scheme = "redis"

    @app.task(name="anything")
    def anything(*args: Any, **kwargs: Any) -> None:
        """Do nothing."""

    return anything


@pytest.fixture
def ordinary(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the tasks of which a call is made the ordinary way."""
    names: list[str] = []
    message_of = known_calls.message_of

    def noted(app: Any, call: Any, now: Any) -> Any:
        names.append(call.name)
        return message_of(app, call, now)

    monkeypatch.setattr("river_compat.celery.sending.message_of", noted)
    return names


def last(driver: Driver) -> tuple[Any, ...]:
    """Return what the newest row holds, but for its ids and its time."""
    row = max(Client(driver).job_list().jobs, key=lambda row: row.id)
    args, metadata = TASK_ID.sub("id", row.encoded_args), TASK_ID.sub("id", row.encoded_metadata)
    return args, metadata, row.queue, row.state, row.priority, row.max_attempts


def compared(driver: Driver, task: Any, *args: Any, **kwargs: Any) -> list[Any]:
    """Return what two calls store: one that may be known, and one of a task that remembers none."""
    task.delay(*args, **kwargs)
    quick = last(driver)
    task.known_call = None
    task.delay(*args, **kwargs)
    return [quick, last(driver)]


@pytest.mark.parametrize("value", [*ARGUMENTS, float("nan")], ids=repr)
def test_the_row_is_that_of_the_ordinary_way(
    driver: Driver, task: Any, ordinary: list[str], value: Any
) -> None:
    """Text by text, positional and by name, at every later call."""
    task.delay()
    ordinary.clear()
    quick, usual = compared(driver, task, value, name=value)
    assert quick == usual
    assert ordinary == ["anything"]  # once, for the second of the two


CHANGES: dict[str, Callable[[Celery, Any], object]] = {
    "queue": lambda _, task: setattr(task, "queue", "other"),
    "queue object": lambda _, task: setattr(task, "queue", Queue("other")),
    "exchange": lambda _, task: [setattr(task, name, "other") for name in ("exchange", "routing_key")],
    "priority": lambda _, task: setattr(task, "priority", 9),
    "limits": lambda _, task: setattr(task, "time_limit", 30),
    "ignored": lambda _, task: setattr(task, "ignore_result", True),
    "at most once": lambda _, task: setattr(task, "acks_late_of_task", False),
    "serializer": lambda _, task: setattr(task, "serializer", "yaml"),
    "compression": lambda _, task: setattr(task, "compression", "gzip"),
    "shadow": lambda _, task: setattr(task, "shadow_name", lambda *_: "shown"),
    "default queue": lambda app, _: setattr(app.conf, "task_default_queue", "other"),
    "default priority": lambda app, _: app.conf.update(task_default_priority=6),
    "setting of crashes": lambda app, _: setattr(app.conf, "task_acks_late", False),
    "scheme": lambda app, _: setattr(app.conf, "task_priority_scheme", "rabbitmq"),
    "defaults": lambda app, _: app.add_defaults({"task_default_queue": "other"}),
    "configuration": lambda app, _: app.config_from_object({"task_default_queue": "other"}),
    "forgotten": lambda app, _: app.conf.clear(),
    "routes": lambda app, _: setattr(app.conf, "task_routes", {"any*": {"queue": "other"}}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_followed_at_once(app: Celery, driver: Driver, task: Any, name: str) -> None:
    """Of the task's attributes and of the settings; what was known before is worth nothing then."""
    before, _ = compared(driver, task, 1)
    CHANGES[name](app, task)
    changed, usual = compared(driver, task, 1)
    assert changed == usual
    assert name == "forgotten" or changed != before
    assert compared(driver, task, 1)[0] == usual


def test_routes_that_are_changed_in_place_are_followed(app: Celery, driver: Driver, task: Any) -> None:
    """A mapping that was empty when the call was made for the first time."""
    app.conf.task_routes = {}
    task.delay()
    app.conf.task_routes["anything"] = {"queue": "other"}
    task.delay()
    queues = [row.queue for row in Client(driver).job_list().jobs]
    assert sorted(queues) == ["celery", "other"]


def test_a_router_is_asked_with_the_arguments_of_each_call(app: Celery, task: Any) -> None:
    """And never for a call that nobody made."""
    asked: list[Any] = []

    def route(name: str, args: Any, kwargs: Any, options: Any, task: Any = None, **others: Any) -> None:
        asked.append((args, kwargs))

    app.conf.task_routes = (route,)
    for number in range(3):
        task.delay(number)
    assert asked == [((number,), {}) for number in range(3)]


def test_a_changed_serializer_is_followed(driver: Driver, task: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one registered under the name, with a content type of its own."""
    task.delay()
    encoders = dict(kombu.serialization.registry._encoders)  # type: ignore[attr-defined]
    encoders["json"] = encoders["yaml"]
    monkeypatch.setattr(kombu.serialization.registry, "_encoders", encoders)
    quick, usual = compared(driver, task)
    assert quick == usual
    assert "application/x-yaml" in str(quick)


def test_receivers_and_overrides_see_every_call(app: Celery, task: Any) -> None:
    """A receiver that is connected late, and a `send_task` of the application's own."""
    seen: list[Any] = []
    task.delay()

    def receive(sender: Any = None, **_: Any) -> None:
        seen.append(sender)

    for signal in (signals.before_task_publish, signals.after_task_publish, signals.task_sent):
        signal.connect(receive)
        task.delay()
        signal.disconnect(receive)
    assert seen == ["anything"] * 3
    ordinary = app.send_task
    app.send_task = lambda *args, **kwargs: seen.append("own") or ordinary(*args, **kwargs)  # type: ignore[method-assign, func-returns-value]
    task.delay()
    assert seen[3:] == ["own"]


def test_a_forked_child_says_who_it_is(driver: Driver, task: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The header `origin` names the process that sends."""
    task.delay()
    monkeypatch.setattr(os, "getpid", lambda: 4_194_305)
    quick, usual = compared(driver, task)
    assert quick == usual
    assert "gen4194305@" in str(quick)


def test_a_call_of_a_running_task_has_its_parent(driver: Driver, task: Any) -> None:
    """And a call after its end has none again."""
    before, _ = compared(driver, task)
    parent = Context(id="parent", root_id="root", called_directly=False)
    _state.push(_state.Frame(task, parent, entered=True, in_worker=True))
    try:
        task.delay()
        child = last(driver)
    finally:
        _state.pop()
    assert '"parent_id": "parent"' in str(child).replace("\\", "")
    assert compared(driver, task)[0] == before


def test_what_cannot_be_sent_raises_as_before(task: Any, driver: Driver) -> None:
    """An argument that no serializer takes; nothing is written."""
    task.delay()
    with pytest.raises(EncodeError):
        task.delay(object())
    assert len(Client(driver).job_list().jobs) == 1


def test_the_call_joins_the_open_transaction(driver: Driver, database_url: str, task: Any) -> None:
    """Its row goes with a rollback, and its handle knows whose transaction it is in."""
    task.delay()
    with open_connection(database_url) as connection:
        with join(connection):
            handle = task.delay()
        assert handle.joined is connection
    assert len(Client(driver).job_list().jobs) == 1


def test_the_handle_knows_its_row(task: Any, driver: Driver) -> None:
    """By the id that the insert returned, and whether there will be a result."""
    handles = [task.delay() for _ in range(3)]
    assert [handle.awaited_row for handle in handles] == sorted(
        job.id for job in Client(driver).job_list().jobs
    )
    task.ignore_result = True
    assert [task.delay().ignored for _ in range(2)] == [True, True]
