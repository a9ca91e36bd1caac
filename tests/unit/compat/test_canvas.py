"""Signatures and their algebra, without any database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import or_
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from river_compat.celery import Celery, chain, chord, group, signature
from river_compat.celery.canvas.chains import _chain
from river_compat.celery.canvas.ends import has_many_ends
from river_compat.celery.canvas.lazy import Lazy
from river_compat.celery.canvas.plain import plain
from river_compat.celery.canvas.plan import Plan, Start
from river_compat.celery.canvas.stamps import gather
from river_compat.celery.exceptions import ImproperlyConfigured, UnsupportedFeature
from river_compat.celery.following import takes_failure
from river_compat.celery.outgoing import Batch

tasks = st.builds(lambda name: signature(name), st.sampled_from("abcdef"))
shapes = st.recursive(
    tasks,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: _chain(parts)),
        st.lists(inner, max_size=3).map(group),
        st.tuples(st.lists(inner, min_size=1, max_size=3), tasks).map(lambda pair: chord(*pair)),
    ),
    max_leaves=8,
)


@pytest.fixture
def app() -> Iterator[Celery]:
    """An application that is not current."""
    with Celery("canvas", set_as_current=False) as made:
        yield made


@given(st.lists(shapes, min_size=1, max_size=5))
def test_chain_of_many_is_what_the_operator_makes_of_them(parts: list[Any]) -> None:
    """Row 8.4. One pass gives what one step after the other gives."""
    copies = [part.clone() for part in parts]
    assert json.dumps(chain(parts), sort_keys=True) == json.dumps(
        reduce(or_, copies, _chain()), sort_keys=True
    )


@given(shapes)
def test_a_signature_survives_json(sig: Any) -> None:
    """Row 8.24. Kinds, parts and options come back."""
    back = signature(json.loads(json.dumps(plain(sig))))
    assert type(back) is type(sig)
    assert json.dumps(plain(back), sort_keys=True) == json.dumps(plain(sig), sort_keys=True)


def test_generators_are_not_looked_at_before_they_are_needed(app: Celery) -> None:
    """Row 8.6. The items are kept."""
    seen: list[int] = []
    add = app.task(lambda x: x, name="add")

    def members() -> Iterator[Any]:
        for number in range(3):
            seen.append(number)
            yield add.s(number)

    made = group(members())
    assert seen == []
    assert [task.args for task in made.tasks] == [(0,), (1,), (2,)]
    assert len(made) == 3
    assert seen == [0, 1, 2]


def test_lazy_items_are_taken_one_ahead() -> None:
    """Enough to notice the end; a change meets those that are there and those to come."""
    source = iter(range(5))
    items = Lazy(source)
    assert items[0] == 0
    assert next(source) == 2
    items.map(lambda item: item * 10)
    assert list(items) == [0, 10, 30, 40]
    assert items == [0, 10, 30, 40]


def plan_of(sig: Any) -> list[tuple[Any, list[Any], bool]]:
    """Each step of a workflow: its task, those it waits for, and whether it takes a list."""
    copy = sig.clone()
    copy.freeze()
    plan = Plan(Batch())
    plan.add(copy, None, Start())
    return [
        (step.sig.args[0], [before.sig.args[0] for before in step.before], step.takes_list)
        for step in plan.steps
    ]


def test_every_task_waits_for_the_ends_before_it(app: Celery) -> None:
    """A group's members all follow the step before; a body, and a step after a group, takes the list."""
    t = app.task(lambda *args: args, name="t")
    a, b, c, d = (t.s(name) for name in "abcd")
    assert plan_of(chain(a, b)) == [("a", [], False), ("b", ["a"], False)]
    assert plan_of(_chain(a, group(b, c), d)) == [
        ("a", [], False),
        ("b", ["a"], False),
        ("c", ["a"], False),
        ("d", ["b", "c"], True),
    ]
    assert plan_of(chord([a | group(b, c), chord([a, b], c)], d))[-1] == ("d", ["b", "c", "c"], True)


def test_ends_are_counted_through_every_shape() -> None:
    """What replaces a task must end in one."""
    a, b = signature("a"), signature("b")
    several = (group(a, b), chord([a], group(a, b)), _chain(a, group(a, b)))
    assert [has_many_ends(sig) for sig in several] == [True, True, True]
    assert not any(has_many_ends(sig) for sig in (a, chord([a], b), _chain(group(a, b), a)))


def test_a_task_is_not_replaced_by_nothing(app: Celery) -> None:
    """Row 8.16."""
    task = app.task(lambda: None, name="t")
    for bad in (_chain(app=app), signature("a").set(chord=signature("b"))):
        with pytest.raises(ImproperlyConfigured):
            task.replace(bad)


def test_stamps_are_put_together() -> None:
    """Row 8.19. The first value stays, or all are kept; the names are those of all."""
    given_stamps, own = {"a": 1}, {"a": 3, "b": 4, "stamped_headers": ["a", "b"], "queue": "q"}
    kept = gather(given_stamps, {"a": 2}, own, append=False)
    assert (kept["a"], kept["b"], sorted(kept["stamped_headers"]), "queue" in kept) == (
        1,
        4,
        ["a", "b"],
        False,
    )
    assert gather(given_stamps, {"a": 2}, own, append=True)["a"] == [1, 2, 3]


def test_styles_of_errbacks_are_told_apart(app: Celery) -> None:
    """Row 8.10. By what is left to give, not by what is stored; bound and unknown ones take the id."""
    one = app.task(lambda task_id: None, name="one")
    three = app.task(lambda request, error, traceback: None, name="three")
    bound = app.task(lambda self, request, error: None, name="bound", bind=True)
    assert not takes_failure(one.s())
    assert takes_failure(three.s())
    assert takes_failure(app.task(lambda *args: None, name="any").s())
    assert not takes_failure(app.task(lambda task_id, key: None, name="stored").s("k"))
    assert not takes_failure(bound.s())
    assert not takes_failure(app.signature("nobody.knows"))


def test_election_is_refused(app: Celery) -> None:
    """Row 8.3."""
    with pytest.raises(UnsupportedFeature, match="election"):
        app.signature("t").election()


def test_a_chord_of_a_single_task_is_refused(app: Celery) -> None:
    """Row 3.19. Only a chord knows its members."""
    with pytest.raises(UnsupportedFeature, match="chord="):
        app.task(lambda: None, name="t").apply_async(chord=signature("body"))


def test_a_workflow_belongs_to_the_application_of_its_tasks(app: Celery) -> None:
    """In a thread whose current application is another one, too."""

    @app.task(shared=False)
    def add(x: int, y: int) -> int:
        return x + y

    workflows = [
        lambda: chain(chord(group(add.s(1, 1), add.s(2, 2)), add.s(1)), add.s(1)),
        lambda: chord([chain(add.s(1, 1), add.s(1))], chain(add.s(1), add.s(1))),
    ]
    with Celery("other", set_as_current=False) as other, ThreadPoolExecutor(1) as thread:
        thread.submit(other.set_current).result()
        assert [thread.submit(lambda make=make: make().app).result() for make in workflows] == [app, app]
