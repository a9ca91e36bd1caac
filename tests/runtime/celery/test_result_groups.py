"""Many results as one: read together, in order, saved and found again."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from river_compat.celery import Celery
from river_compat.celery.exceptions import ImproperlyConfigured
from river_compat.celery.exceptions import TimeoutError as ResultTimeoutError
from river_compat.celery.result import GroupResult, result_from_tuple
from river_core.db.statement import Statement
from tests.runtime.celery.conftest import Working

TIMEOUT = 60
MANY = 300


class Counted:
    """The names of the statements that were run while results were read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, app: Celery) -> None:
        self.names: list[str] = []
        with app.runtime.driver.connect() as connection:
            kind = type(connection)
        fetch = kind.fetch

        def counting(connection: Any, statement: Statement) -> Any:
            if statement.name.startswith("job_get"):  # other threads announce inserts meanwhile
                self.names.append(statement.name)
            return fetch(connection, statement)

        monkeypatch.setattr(kind, "fetch", counting)


@pytest.fixture
def echo(app: Celery) -> Iterator[Any]:
    """A task that returns its argument, or raises it."""

    @app.task(name="echo", shared=False)
    def echo(x):
        if x == "fail":
            raise ValueError("asked for")
        return x

    return echo


def group_of(app: Celery, echo: Any, values: list[Any]) -> Any:
    """Send the task once for each value."""
    return app.GroupResult("group-id", [echo.delay(value) for value in values])


def test_values_come_in_the_order_of_the_group(app: Celery, working: Working, echo: Any) -> None:
    """However they end; nested groups are lists."""
    group = group_of(app, echo, list(range(20)))
    nested = app.ResultSet([group, echo.delay("last")])
    with working():
        assert group.get(timeout=TIMEOUT) == list(range(20))
        assert nested.get(timeout=TIMEOUT) == [list(range(20)), "last"]
        assert group.join(timeout=TIMEOUT) == list(range(20))
    assert (group.ready(), group.successful(), group.failed(), group.waiting()) == (True, True, False, False)
    assert group.completed_count() == 20


@pytest.mark.parametrize("by_id", [False, True])
def test_a_finished_group_is_read_in_few_queries(
    app: Celery, working: Working, echo: Any, monkeypatch: pytest.MonkeyPatch, by_id: bool
) -> None:
    """However many members it has, with or without the ids of their rows."""
    group = group_of(app, echo, list(range(MANY)))
    with working(concurrency=8):
        group.get(timeout=60)
    members = [app.AsyncResult(member.id) for member in group]
    fresh = app.GroupResult("same", members) if by_id else pickled(app, group)
    counted = Counted(monkeypatch, app)
    assert fresh.get(timeout=TIMEOUT) == list(range(MANY))
    assert len(counted.names) <= 3, counted.names


def pickled(app: Celery, group: Any) -> Any:
    """A copy that has read nothing, with the row ids."""
    app.set_current()
    return pickle.loads(pickle.dumps(group))  # noqa: S301 - our own bytes


def test_states_of_a_waiting_group_are_one_query(
    app: Celery, echo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is kept for the next question."""
    group = group_of(app, echo, list(range(30)))
    counted = Counted(monkeypatch, app)
    assert (group.ready(), group.completed_count()) == (False, 0)
    assert len(counted.names) == 2, counted.names
    with pytest.raises(ResultTimeoutError):
        group.get(timeout=0)
    with pytest.raises(ResultTimeoutError):
        group.join(timeout=0)


def test_the_first_failure_is_raised_before_the_rest_has_ended(
    app: Celery, working: Working, echo: Any
) -> None:
    """`propagate=False` waits for all, and gives exceptions as values."""
    go = threading.Event()
    slow = app.task(lambda: go.wait(TIMEOUT), name="slow", shared=False)
    group = app.GroupResult("mixed", [slow.delay(), echo.delay("fail"), echo.delay(3)])
    with working():
        with pytest.raises(ValueError, match="asked for"):
            group.get(timeout=TIMEOUT)
        assert not group.ready()
        go.set()
        values = group.get(timeout=TIMEOUT, propagate=False)
    assert [repr(value) for value in values] == ["True", "ValueError('asked for')", "3"]
    assert (group.failed(), group.successful(), group.completed_count()) == (True, False, 2)
    with pytest.raises(ValueError, match="asked for"):
        group.maybe_throw()


def test_callbacks_take_the_values(app: Celery, working: Working, echo: Any) -> None:
    """Then nothing is returned; `on_message` hears each end, but not of join()."""
    group = group_of(app, echo, [1, 2])
    seen: list[Any] = []
    heard: list[Any] = []
    with working():
        given = group.get(
            timeout=TIMEOUT, callback=lambda *pair: seen.append(pair), on_message=lambda m: heard.append(m)
        )
    assert given is None
    assert sorted(seen) == sorted((member.id, member.result) for member in group)
    assert sorted(meta["result"] for meta in heard) == [1, 2]
    with pytest.raises(ImproperlyConfigured):
        group.join(on_message=heard.append)


def test_a_saved_group_is_found_by_its_id(app: Celery, working: Working, echo: Any) -> None:
    """With order and parent, until it is deleted."""
    parent = echo.delay("parent")
    group = app.GroupResult("saved", [echo.delay(value) for value in (1, 2)], parent=parent)
    group.save()
    restored = GroupResult.restore("saved", app=app)
    assert restored == group
    assert restored.parent == parent
    with working():
        assert restored.get(timeout=TIMEOUT) == [1, 2]
    group.delete()
    assert app.GroupResult.restore("saved") is None
    group.delete()


def test_members_come_and_go(app: Celery) -> None:
    """A stranger cannot be removed, but discarded."""
    one, two, three = (app.AsyncResult(name) for name in ("one", "two", "three"))
    members = app.ResultSet([one])
    members.update([one, two])
    assert list(members) == [one, two]
    members.remove("one")
    members.discard(three)
    with pytest.raises(KeyError):
        members.remove(three)
    assert (len(members), members[0]) == (1, two)
    members.clear()
    assert (len(members), members.get()) == (0, [])


def test_tuples_become_results_again(app: Celery) -> None:
    """A chain of groups."""
    first = app.AsyncResult("first")
    group = app.GroupResult("group", [app.AsyncResult("a"), app.GroupResult("inner", [])], parent=first)
    last = app.AsyncResult("last", parent=group)
    again = result_from_tuple(last.as_tuple(), app)
    assert again == last
    assert again.parent == group
    assert again.parent.parent == first
    assert again.as_list() == ["last", "group", "first"]


def test_a_forgotten_group_is_gone(app: Celery, working: Working, echo: Any) -> None:
    """All of its members."""
    group = group_of(app, echo, [1, 2])
    with working():
        group.get(timeout=TIMEOUT)
    group.forget()
    assert [member.exists() for member in group] == [False, False]
