"""Callbacks, errbacks, replacement, chords that grow, retries: what a task sets off at its end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from river_compat.celery import Celery, chain, chord, current_task, group
from river_compat.celery.exceptions import ChordError
from tests.runtime.celery.conftest import Working
from tests.runtime.celery.rows import rows_of
from tests.runtime.workers import wait_for

WAIT = 60.0


@pytest.fixture
def heard(app: Celery, tasks: SimpleNamespace) -> list[Any]:
    """What errbacks were called with; they are `tasks.old` and `tasks.new`."""
    heard: list[Any] = []

    @app.task
    def old(task_id: str) -> None:
        heard.append(("old", task_id))

    @app.task
    def new(request: Any, error: BaseException, traceback: str) -> None:
        heard.append(("new", request.id, repr(error)))

    @app.task
    def bad(request: Any, error: BaseException, traceback: str) -> None:
        raise RuntimeError("in the errback")

    tasks.old, tasks.new, tasks.bad = old, new, bad
    return heard


def test_callbacks_get_the_value_once(tasks: SimpleNamespace, working: Working) -> None:
    """Rows 3.10, 8.9. Two links, one of them added twice, one a chain."""
    sig = tasks.add.s(1, 2)
    sig.link(tasks.say.s())
    sig.link(tasks.say.s())
    sig.link(tasks.add.s(10) | tasks.say.s())
    with working():
        result = sig.apply_async()
        assert result.get(timeout=WAIT) == 3
        wait_for(lambda: len(tasks.said) == 2, "both callbacks")
    assert sorted(tasks.said) == [3, 13]
    assert len(result.children) == 1


def test_errbacks_of_both_styles_hear_of_a_failure(
    tasks: SimpleNamespace, working: Working, heard: list[Any]
) -> None:
    """Rows 3.10, 8.10. One that raises changes nothing, and a callback is not called."""
    sig = tasks.fail.s()
    sig.link(tasks.say.s())
    for errback in (tasks.old.s(), tasks.bad.s(), tasks.new.s()):
        sig.link_error(errback)
    with working():
        result = sig.apply_async()
        assert isinstance(result.get(timeout=WAIT, propagate=False), ValueError)
        wait_for(lambda: len(heard) == 2, "both errbacks")
    assert sorted(heard) == [("new", result.id, "ValueError('no')"), ("old", result.id)]
    assert tasks.said == []


def test_a_chain_calls_its_errback_once(tasks: SimpleNamespace, working: Working, heard: list[Any]) -> None:
    """Row 8.10. For the step that failed, not for those that never ran."""
    work = chain(tasks.add.s(1, 1), tasks.fail.s(), tasks.say.s())
    work.link_error(tasks.old.s())
    with working():
        result = work.apply_async()
        result.get(timeout=WAIT, propagate=False, follow_parents=False)
        wait_for(lambda: heard, "the errback")
        assert tasks.add.delay(1, 1).get(timeout=WAIT) == 2
    assert heard == [("old", result.parent.id)]


@pytest.mark.parametrize("style", ["old", "new"])
def test_errbacks_of_a_body_that_never_ran(
    tasks: SimpleNamespace, working: Working, heard: list[Any], style: str
) -> None:
    """Rows 8.7, 8.10. The body's own id and its ChordError."""
    body = tasks.say.s()
    body.link_error(getattr(tasks, style).s())
    with working():
        result = chord([tasks.add.s(1, 1), tasks.fail.s()], body).apply_async()
        with pytest.raises(ChordError):
            result.get(timeout=WAIT, follow_parents=False)
        wait_for(lambda: heard, "the errback")
    assert heard[0][:2] == (style, result.id)


def test_an_errback_that_tasks_share_is_called_once_for_one_failure(
    tasks: SimpleNamespace, working: Working, heard: list[Any]
) -> None:
    """Rows 8.10, 8.12. By a chord in a chord, and by the steps of a chain behind the one that failed."""
    inner = chord([tasks.add.si(1, 1), tasks.fail.si()], tasks.say.s())
    outer = chord(group([tasks.add.si(1, 1), inner]), tasks.say.s())
    outer.link_error(tasks.new.s())
    body = chain(tasks.xsum.s(), group(tasks.add.s(1), tasks.add.s(2)), tasks.xsum.s())
    body.link_error(tasks.new.s())
    own = tasks.say.s()
    own.link_error(tasks.old.s())
    with working():
        for work in (outer, chord([tasks.fail.si(), tasks.add.si(1, 1)], body)):
            result = work.apply_async()
            result.get(timeout=WAIT, propagate=False, follow_parents=False)
        chord([inner.clone(), tasks.add.si(1, 1)], own).apply_async()
        wait_for(lambda: len(heard) >= 4, "the errbacks")
        assert tasks.add.delay(1, 1).get(timeout=WAIT) == 2
    assert sorted(kind for kind, *_ in heard) == ["new", "new", "new", "old"]


def test_an_errback_finds_the_failure_stored(app: Celery, tasks: SimpleNamespace, working: Working) -> None:
    """Row 8.10. One that takes the request is called after the commit."""
    found: list[Any] = []

    @app.task
    def look(request: Any, error: BaseException, traceback: str) -> None:
        found.append((app.AsyncResult(request.id).state, current_task.name))

    with working():
        tasks.fail.s().on_error(look.s()).apply_async()
        wait_for(lambda: found, "the errback")
    assert found == [("FAILURE", look.name)]


@pytest.mark.parametrize("on", [False, True])
def test_errbacks_of_headers_are_a_setting(
    app: Celery, tasks: SimpleNamespace, working: Working, heard: list[Any], on: bool
) -> None:
    """Row 8.12."""
    app.conf.task_allow_error_cb_on_chord_header = on
    work = chord([tasks.fail.si(), tasks.fail.si()], tasks.say.s())
    work.link_error(tasks.new.s())
    with working():
        result = work.apply_async()
        result.get(timeout=WAIT, propagate=False, follow_parents=False)
        wait_for(lambda: len(heard) == 1 + 2 * on, "the errbacks")
        assert tasks.add.delay(1, 1).get(timeout=WAIT) == 2
    assert len(heard) == 1 + 2 * on


def test_what_replaces_a_task_takes_its_place(app: Celery, tasks: SimpleNamespace, working: Working) -> None:
    """Rows 4.10, 8.16. Alone, in a chain, in a chord, by a chain, by a group."""

    @app.task(bind=True)
    def by(self: Any, value: Any, how: str) -> Any:
        shapes = {
            "task": tasks.add.si(value, 1),
            "chain": tasks.add.si(value, 1) | tasks.add.s(1),
            "group": group(tasks.add.si(value, 1), tasks.add.si(value, 2)),
            "chord": chord([tasks.add.si(value, 1), tasks.add.si(value, 2)], tasks.xsum.s()),
            "itself": by.si(value + 1, "task"),
        }
        return self.replace(shapes[how])

    expected = {"task": 11, "chain": 12, "group": [11, 12], "chord": 23, "itself": 12}
    with working():
        alone = {how: by.s(10, how).apply_async() for how in expected}
        chained = {how: chain(tasks.identity.s(10), by.s(how), tasks.identity.s())() for how in expected}
        members = chord([by.s(10, how) for how in expected], tasks.identity.s())()
        assert {how: found.get(timeout=WAIT) for how, found in alone.items()} == expected
        assert {how: found.get(timeout=WAIT) for how, found in chained.items()} == expected
        assert members.get(timeout=WAIT) == list(expected.values())
        assert app.AsyncResult(alone["chain"].id).get(timeout=WAIT) == 12


def test_a_replaced_task_keeps_its_callbacks(app: Celery, tasks: SimpleNamespace, working: Working) -> None:
    """Row 8.16. They follow what took its place."""

    @app.task(bind=True)
    def by(self: Any) -> Any:
        return self.replace(tasks.add.si(1, 1) | tasks.facts.s())

    sig = by.s()
    sig.link(tasks.say.s())
    with working():
        result = sig.apply_async()
        found = result.get(timeout=WAIT)
        wait_for(lambda: tasks.said, "the callback")
    assert tasks.said == [found]
    assert (found["id"], found["replaced_task_nesting"], found["args"]) == (result.id, 1, [2])


@pytest.mark.parametrize("lazy", [False, True])
def test_a_chord_grows_while_it_runs(
    app: Celery, tasks: SimpleNamespace, working: Working, lazy: bool
) -> None:
    """Rows 4.10, 8.17. The body waits for what was added."""

    @app.task(bind=True)
    def grow(self: Any) -> int:
        added = self.add_to_chord(tasks.add.si(100, 1), lazy)
        if lazy:
            added.delay()
        return 1

    with working():
        result = chord([grow.s(), tasks.add.s(1, 1)], tasks.identity.s())()
        assert sorted(result.get(timeout=WAIT)) == [1, 2, 101]


def test_a_chord_joins_a_chord(app: Celery, tasks: SimpleNamespace, working: Working) -> None:
    """Row 8.17. Its body's value is one more for the outer body; what replaced a member may add as well."""

    @app.task(bind=True)
    def grow(self: Any) -> int:
        self.add_to_chord(group(tasks.add.si(1, 1), tasks.add.si(2, 2)) | tasks.xsum.s())
        return 0

    @app.task(bind=True)
    def replaced(self: Any) -> Any:
        return self.replace(grow.si())

    with working():
        for member in (grow, replaced):
            result = chord([member.si(), tasks.add.si(50, 50)], tasks.identity.s())()
            assert sorted(result.get(timeout=WAIT)) == [0, 6, 100]


def test_only_members_of_a_chord_can_add_to_it(app: Celery, working: Working) -> None:
    """Row 8.17."""

    @app.task(bind=True)
    def grow(self: Any) -> Any:
        return self.add_to_chord(grow.s())

    with working(), pytest.raises(ValueError, match="not member of any chord"):
        grow.delay().get(timeout=WAIT)


def test_retries_keep_their_place(app: Celery, tasks: SimpleNamespace, working: Working) -> None:
    """Row 5.5. In a chain, in a chord, as a body; with their callbacks."""

    @app.task(bind=True, max_retries=2)
    def twice(self: Any, value: Any) -> Any:
        if self.request.retries < 2:
            raise self.retry(countdown=0)
        return value

    linked = twice.s(5)
    linked.link(tasks.say.s())
    with working():
        chained = chain(tasks.add.s(1, 1), twice.s(), tasks.add.s(1))()
        body = chord([twice.s(1), tasks.add.s(1, 1), linked], twice.s())()
        assert chained.get(timeout=WAIT) == 3
        assert body.get(timeout=WAIT) == [1, 2, 5]
        wait_for(lambda: tasks.said, "the callback")
    assert tasks.said == [5]
    assert len(rows_of(app, body.id)) == 3


def test_a_value_that_is_not_kept_still_goes_on(
    app: Celery, tasks: SimpleNamespace, working: Working
) -> None:
    """Row 8.8. To the next step of a chain, and to the body of a chord."""

    @app.task(ignore_result=True)
    def quiet(value: Any) -> Any:
        return value

    with working():
        assert chain(quiet.s(3), tasks.add.s(1))().get(timeout=WAIT, follow_parents=False) == 4
        assert chord([quiet.s(1), tasks.add.s(1, 1)], tasks.identity.s())().get(timeout=WAIT) == [1, 2]


def test_errbacks_hear_of_a_task_that_ends_its_process(
    app: Celery, tasks: SimpleNamespace, working: Working, heard: list[Any]
) -> None:
    """Rows 6.4, 8.10. Although none of its handlers can."""

    @app.task
    def leave() -> None:
        raise SystemExit(1)

    with working():
        result = leave.apply_async(link_error=tasks.old.s())
        wait_for(lambda: heard, "the errback")
    assert heard == [("old", result.id)]


@pytest.mark.parametrize("member", ["task", "chain", "chord"])
def test_links_of_containers_reach_their_tasks(
    tasks: SimpleNamespace, working: Working, heard: list[Any], member: str
) -> None:
    """Rows 8.9, 8.10. Those of a chain, chord or group in a body, too."""
    members = {
        "task": tasks.add.si(1, 2),
        "chain": chain(tasks.add.si(1, 1), tasks.add.s(1)),
        "chord": chord([tasks.add.si(1, 1), tasks.add.si(0, 1)], tasks.xsum.s()),
    }
    linked = members[member]
    linked.link(tasks.say.s())
    work = group(linked, chain(tasks.add.si(1, 1), tasks.fail.s()))
    work.options["link_error"] = [tasks.old.s()]
    with working():
        result = chord([tasks.add.s(1, 1)], tasks.identity.si(0) | work)()
        assert result[0].get(timeout=WAIT) == 3
        wait_for(lambda: tasks.said and heard, "callback and errback")
    assert (tasks.said, len(heard)) == ([3], 1)
