"""Names of Celery's that few programs use, with Celery's meaning; most are compared with Celery itself."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import celery
import pytest
from celery.app.defaults import flatten as their_flatten
from celery.utils import collections as their_collections
from celery.utils import serialization as their_serialization
from celery.utils import term as their_term
from celery.utils import text as their_text

import river_compat.celery as ours
from river_compat.celery import _state, beat
from river_compat.celery.app import pop_current_task, push_current_task
from river_compat.celery.app.defaults import flatten
from river_compat.celery.app.settings import Settings
from river_compat.celery.contrib.testing.app import TestApp
from river_compat.celery.contrib.testing.worker import TestWorkController
from river_compat.celery.events.state import State, Task
from river_compat.celery.exceptions import UnsupportedFeature
from river_compat.celery.result import EagerResult
from river_compat.celery.utils import collections, debug, serialization, term, text


@pytest.fixture
def app(tmp_path: Path) -> Iterator[ours.Celery]:
    """An application with a database that nobody has made yet."""
    url = f"sqlite:///{tmp_path / 'river.db'}"
    with ours.Celery("names", set_as_current=False, river_database_url=url) as made:
        yield made


def test_versions_are_those_of_the_celery_that_is_meant() -> None:
    """By parts and as text."""
    for name in ("VERSION", "version_info", "VERSION_BANNER", "SERIES", "__version__"):
        assert getattr(ours, name) == getattr(celery, name)
    assert ours.version_info.micro == 0


def test_a_result_has_a_promise_of_its_end() -> None:
    """It calls back, knows whether it has come, and raises."""
    result: EagerResult[int] = EagerResult("id", 3, "SUCCESS")
    heard: list[Any] = []
    result.on_ready.then(heard.append)
    assert heard == [result]
    assert result.on_ready.ready
    with pytest.raises(ValueError, match="elsewhere"):
        result.throw(ValueError("elsewhere"))


def test_an_eager_result_takes_its_parameters_in_the_order_of_celerys() -> None:
    """The third one is `disable_sync_subtasks`."""
    result: EagerResult[int] = EagerResult("id", 3, "SUCCESS")
    assert result.get(None, True, False) == 3
    with pytest.raises(TypeError):
        result.get(None, True, False, 0.5)  # type: ignore[call-arg]  # it is the point


def test_a_task_can_be_made_the_current_one(app: ours.Celery) -> None:
    """And the one before again; a worker does not run it for that."""
    task = app.task(lambda: None, name="names.task")
    push_current_task(task)
    try:
        assert _state.get_current_task() is task
    finally:
        assert pop_current_task() is task
    assert _state.get_current_worker_task() is None


def test_the_settings_are_a_stack_of_mappings(app: ours.Celery) -> None:
    """Changes first, the library's defaults last."""
    app.add_defaults({"task_default_queue": "low"})
    app.conf.task_track_started = True
    conf = app.conf.finalize()
    assert conf.changes["task_track_started"] is True
    assert [values.get("task_default_queue") for values in conf.maps if "task_default_queue" in values] == [
        "low",
        "celery",
    ]
    assert conf.maps[1:] == conf.defaults
    assert dict(conf.iteritems()) == dict(zip(conf.iterkeys(), conf.itervalues(), strict=True))
    with pytest.raises(UnsupportedFeature, match="find_deprecated_settings"):
        conf.maybe_warn_deprecated_settings()


def test_an_update_of_the_settings_is_told(app: ours.Celery) -> None:
    """After it was made, with what it was given."""
    heard: list[Any] = []
    app.conf.bind_to(lambda *args, **kwargs: heard.append((args, kwargs, app.conf.task_default_queue)))
    app.conf.update([("task_default_queue", "low")], task_track_started=True)
    assert heard == [(({"task_default_queue": "low"},), {"task_track_started": True}, "low")]
    other = Settings.fromkeys(["task_default_queue"], "high")
    app.conf.swap_with(other)
    assert app.conf.task_default_queue == "high"


@pytest.mark.parametrize("library", [collections, their_collections])
def test_mappings_are_chained(library: Any) -> None:
    """Looked up from the first to the last, changed in the first; functions and a prefix change keys."""
    chain = library.ChainMap({"a": 1}, {"a": 2, "b": 3}, key_t=str.lower)
    chain.add_defaults({"b": 4, "c": 5})
    assert (chain["A"], chain["b"], chain["c"], len(chain), "C" in chain) == (1, 4, 5, 3, True)
    chain["B"] = 6
    assert chain.changes == {"a": 1, "b": 6}
    assert (chain.pop("A"), chain["a"]) == (1, 2)
    with pytest.raises(KeyError):
        chain.pop("c")
    copy = chain.copy()
    copy.clear()
    assert (copy.changes, chain.changes, bool(copy)) == ({}, {"b": 6}, True)
    view = library.ConfigurationView({"APP_QUEUE": "low"}, [{"OLD": 1}], [str.upper], "APP")
    assert (view["queue"], view.queue, view["old"], view.first("none", "queue")) == ("low", "low", 1, "low")
    assert view.copy()["queue"] == "low"


class _BaseError(ValueError):
    """Pickles."""


class _LocalError(_BaseError):
    """Does not."""

    def __reduce__(self) -> Any:
        raise TypeError("it does not pickle")


@pytest.mark.parametrize("library", [serialization, their_serialization])
def test_the_nearest_exception_that_pickles_is_found(library: Any) -> None:
    """Above Exception, or none."""
    found = library.find_pickleable_exception(_LocalError("wrong"))
    assert (type(found), found.args) == (_BaseError, ("wrong",))
    assert pickle.loads(pickle.dumps(found)).args == ("wrong",)  # noqa: S301 - it is our own
    assert library.find_pickleable_exception(type("Own", (Exception,), {})()) is None
    assert list(library.itermro(_LocalError, (ValueError,))) == [_LocalError, _BaseError]


@pytest.mark.parametrize("library", [text, their_text])
def test_text_is_shaped_as_celerys(library: Any) -> None:
    """Cut at a space, joined by lines, without repeated prefixes."""
    assert library.truncate("some long text", 8) == "some..."
    assert library.truncate("short", 8) == "short"
    assert library.join(["a", "", "b"]) == "a\nb"
    assert library.dedent("    a\n  b") == "a\n  b"
    assert library.remove_repeating("x.", "x.a, x.b, max.c") == "x.a, b, max.c"
    assert library.remove_repeating_from_task("t.add", "t.add(2), t.mul(3)") == "t.add(2), mul(3)"
    file = library.WhateverIO(b"a")
    file.seek(1)
    file.write(b"b")
    file.write("c")
    assert file.getvalue() == "abc"


@pytest.mark.parametrize("library", [term, their_term])
def test_colours_are_embedded(library: Any) -> None:
    """Without the code that ends them."""
    assert library.colored(enabled=True).red("stop").embed() == "\033[1;31mstop"
    assert library.colored(enabled=False).node(("stop",), "\033[8m").embed() == "stop"


@pytest.mark.parametrize("library", [flatten, their_flatten])
def test_sections_are_flattened(library: Any) -> None:
    """The outer ones first; keys carry the names of their sections."""
    given = {"a": {"b": 1, "c": {"d": 2}}, "e": 3}
    assert list(library(given, keyfilter=lambda ns, key, value: [(ns + key, value)])) == [
        ("e", 3),
        ("a_b", 1),
        ("a_c_d", 2),
    ]


def test_stacks_of_threads_are_written_to_a_file() -> None:
    """With a line of one's own below each name."""
    file = io.StringIO()
    assert debug.cry(out=file, sepchr="-", seplen=3) is None
    assert "MainThread\n---\n" in file.getvalue()


def test_a_heap_is_made_of_an_own_class(app: ours.Celery) -> None:
    """`event_t` makes the events, `heapify` puts them in order."""
    app.conf.beat_schedule = {"a": {"task": "names.task", "schedule": 30}}
    scheduler = beat.Scheduler(app)
    ordered: list[Any] = []
    scheduler.populate_heap(
        event_t=lambda *parts: beat.event_t(*parts)._replace(priority=9), heapify=ordered.extend
    )
    assert [(event.priority, event.entry.name) for event in ordered] == [(9, "a")]


def test_events_are_taken_by_kind_and_an_index_is_given() -> None:
    """State(tasks_by_type=...), and the methods that take an event without its type."""
    known = Task("1", name="names.task", timestamp=0.0)
    state = State(tasks={"1": known}, tasks_by_type={"names.task": {known}})
    assert list(state.tasks_by_type["names.task"]) == [known]
    fields = {"uuid": "2", "hostname": "worker@host", "timestamp": 1.0, "clock": 1, "name": "names.other"}
    task, created = state.task_event("received", fields)
    assert (task.state, created) == ("RECEIVED", True)
    task.event("done", 2.0, fields={}, task_event_to_state={"done": "SUCCESS"}.get)
    assert task.state == "SUCCESS"
    worker, _ = state.worker_event("online", {"hostname": "worker@host", "timestamp": 1.0})
    assert worker.hostname == "worker@host"


class _Hooked(TestWorkController):
    """A worker that notes what is called."""

    called: list[str]

    def on_before_init(self, **kwargs: Any) -> None:
        self.called = ["before"]

    def on_after_init(self, **kwargs: Any) -> None:
        self.called.append("after")

    def on_start(self) -> None:
        self.called.append("start")

    def on_close(self) -> None:
        self.called.append("close")

    def on_stopped(self) -> None:
        self.called.append("stopped")

    def on_consumer_ready(self, consumer: Any) -> None:
        super().on_consumer_ready(consumer)
        self.stop(in_sighandler=True, exitcode=3)


def test_a_worker_calls_the_methods_that_its_class_overrides() -> None:
    """In Celery's order; `stop` keeps the exit code."""
    worker = _Hooked(app=TestApp(), pool="solo")
    assert worker.called == ["before", "after"]
    worker.start()
    assert worker.called == ["before", "after", "start", "close", "stopped"]
    assert worker.exitcode == 3
