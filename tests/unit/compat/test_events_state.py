"""What a program that feeds `State` by itself reads out of it; what sends or receives events is refused."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from river_compat.celery import events, states
from river_compat.celery.events.state import HEARTBEAT_EXPIRE_WINDOW, State, heartbeat_expires
from river_compat.celery.exceptions import UnsupportedFeature

NOW = 1_800_000_000.0


def told(state: State, kind: str, clock: int, **fields: Any) -> None:
    """Give the state one event."""
    given = {"hostname": "w1", "timestamp": NOW + clock, "local_received": NOW + clock, "clock": clock}
    state.event(events.Event(kind, **(given | fields)))


def test_a_task_is_what_its_last_event_made_of_it() -> None:
    """An event that arrives late tells its facts and does not turn the state back."""
    state = State()
    told(state, "task-succeeded", 5, uuid="a", result="3")
    told(state, "task-received", 1, uuid="a", name="add", args="(1, 2)")
    task = state.tasks["a"]
    assert (task.state, task.result, task.name, task.args) == (states.SUCCESS, "3", "add", "(1, 2)")
    assert task.ready
    assert task.worker.hostname == "w1"


def test_families_are_found_in_any_order() -> None:
    """A child that was heard of before its parent is its child all the same."""
    state = State()
    told(state, "task-received", 1, uuid="child", name="add", parent_id="parent", root_id="parent")
    told(state, "task-received", 2, uuid="parent", name="add")
    child, parent = state.tasks["child"], state.tasks["parent"]
    assert child.parent is parent
    assert child.root is parent
    assert list(parent.children) == [child]


def test_the_newest_come_first_and_the_oldest_are_forgotten() -> None:
    """Only so many tasks are kept; each is listed once, at its last event."""
    state = State(max_tasks_in_memory=2)
    for clock, task_id in enumerate(("a", "b", "c", "b"), 1):
        told(state, "task-started", clock, uuid=task_id, name="add")
    assert [task_id for task_id, _ in state.tasks_by_time()] == ["b", "c"]
    assert [task_id for task_id, _ in state.tasks_by_worker("w1", limit=1)] == ["b"]
    assert state.task_types() == ["add"]


def test_a_state_survives_a_pickle() -> None:
    """Workers, tasks and indexes are there again."""
    state = State()
    told(state, "task-received", 1, uuid="a", name="add")
    copy = pickle.loads(pickle.dumps(state))  # noqa: S301 - our own
    assert copy.tasks["a"] == state.tasks["a"]
    assert [task.uuid for task in copy.tasks_by_type["add"]] == ["a"]
    assert copy.workers["w1"].heartbeats == [NOW + 1]


def test_a_worker_is_gone_after_its_window() -> None:
    """The window is in hundredths of the interval between two heartbeats."""
    assert heartbeat_expires(NOW, freq=2, expire_window=HEARTBEAT_EXPIRE_WINDOW) == NOW + 4


@pytest.mark.parametrize("made", [events.EventReceiver, events.EventDispatcher, events.get_exchange])
def test_what_sends_or_receives_is_refused_with_the_way_out(made: Any) -> None:
    """Nobody waits in vain for events that no worker sends."""
    with pytest.raises(UnsupportedFeature, match=r"River UI.*app\.control\.inspect"):
        made()
