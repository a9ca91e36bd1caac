"""Applications, tasks and what is current, without a database."""

from __future__ import annotations

import pickle
import sys
import threading
import types
from pathlib import Path
from typing import Any

import pytest
from celery.app.utils import Settings as _  # noqa: F401 - the installed Celery is importable beside ours
from celery.utils.imports import gen_task_name as their_task_name

from river_compat.celery import Celery, Task, current_app, current_task, shared_task
from river_compat.celery.app.definition import generated_name
from river_compat.celery.exceptions import (
    AlwaysEagerIgnored,
    DuplicateTaskNameWarning,
    NotRegistered,
    UnsupportedFeature,
)
from river_compat.celery.request import Context
from river_compat.celery.result import AsyncResult, EagerResult, allow_join_result
from river_compat.celery.utils.log import get_task_logger
from river_core.errors import JobCancelError, JobSnoozeError


def make(**options: Any) -> Celery:
    """An application whose tasks run in place, unless told otherwise."""
    return Celery("proj", set_as_current=False, **{"task_always_eager": True, **options})


@pytest.mark.parametrize("module", ["__main__", "json", "no.such.module", None])
@pytest.mark.parametrize("main", ["proj", None])
def test_generated_names_are_celerys(module: str | None, main: str | None) -> None:
    """`module.function`, with the application's name for a script."""
    theirs = their_task_name(types.SimpleNamespace(main=main), "add", module)
    assert generated_name(main, "add", module) == theirs


def test_a_decorated_function_is_a_task() -> None:
    """With its options as attributes, callable, and with its documentation."""
    app = make()

    @app.task(count=3, shared=False)
    def add(x, y):
        """Add."""
        return x + y

    assert (add(1, 2), add.count, add.__doc__, add.__name__) == (3, 3, "Add.", "add")
    assert isinstance(add, Task)
    assert add.name == f"{__name__}.add"
    assert app.tasks[add.name] == add


def test_arguments_are_checked_in_the_caller() -> None:
    """With Python's own words; a bound task's self is not the caller's to give."""
    app = make()
    add = app.task(lambda x, y: x + y, name="add", shared=False)
    bound = app.task(lambda self, x: x, name="bound", bind=True, shared=False)
    lax = app.task(lambda x: x, name="lax", typing=False, shared=False)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        add.delay(5)
    assert bound.delay(1).get() == 1
    with pytest.raises(TypeError):
        bound.delay()
    assert lax.delay(1, 2, 3).failed()


def test_of_two_functions_with_one_name_the_first_stays() -> None:
    """With a warning, once."""
    app = make()
    app.task(lambda: "first", name="t", shared=False, lazy=False)
    with pytest.warns(DuplicateTaskNameWarning, match="stays registered"):
        second = app.task(lambda: "second", name="t", shared=False, lazy=False)
    assert second() == "first"


class Greeter(Task):
    """A task written as a class."""

    name = "greeter"
    greeting = "hello"

    def run(self, whom):
        return f"{self.greeting} {whom}"


def test_a_class_is_registered() -> None:
    """Class or instance."""
    app = make()
    task = app.register_task(Greeter)
    assert task.delay("you").get() == "hello you"
    assert app.tasks["greeter"] is task


def test_an_unknown_task_is_a_key_error() -> None:
    """And `.get` gives None."""
    with pytest.raises(NotRegistered):
        make().tasks["nope"]
    assert make().tasks.get("nope") is None


def test_an_application_may_wait_to_be_finalized() -> None:
    """Then its registry cannot be read before."""
    app = make(autofinalize=False)
    with pytest.raises(RuntimeError):
        _ = app.tasks
    app.finalize()
    assert app.tasks.get("nope") is None


def test_a_shared_task_belongs_to_the_current_application() -> None:
    """Each application that is finalized gets a copy."""
    first, second = make(), make()

    @shared_task(name="shared_between")
    def which(self=None):
        return current_task.app

    for app in (first, second):
        app.set_current()
        assert which.app is app
        assert app.tasks["shared_between"] is not None
    first.close()
    second.close()


@pytest.mark.parametrize("decorate", [shared_task, lambda *args: make().task(*args, shared=False)])
def test_what_is_no_function_is_refused(decorate: Any) -> None:
    """Also a shared task."""
    with pytest.raises(TypeError):
        decorate(5)
    task = shared_task(lambda: None, name=f"shared_{id(decorate)}")
    with pytest.raises(TypeError, match=r"more than once|made of a function"):
        decorate(task)


def test_a_task_of_an_application_may_be_shared() -> None:
    """As Celery 5.7 allows."""
    app = make()
    task = shared_task(app.task(lambda x: x * 2, name="doubled", shared=False), name="doubled")
    app.set_current()
    assert task(4) == 8
    app.close()


def test_the_current_application_is_that_of_the_thread() -> None:
    """A new application becomes current where it was made, unless told not to."""
    app = Celery("current")
    seen = []

    def elsewhere() -> None:
        other = Celery("other")
        seen.append(current_app.main)
        other.close()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert (current_app.main, seen) == ("current", ["other"])
    app.close()


def test_a_thread_without_an_application_takes_the_default() -> None:
    """Or the latest one: never a database that nobody named."""
    app = Celery("latest")
    seen = []
    thread = threading.Thread(target=lambda: seen.append(current_app.main))
    thread.start()
    thread.join()
    app.close()
    assert seen == ["latest"]


def test_tasks_and_results_are_pickled_by_name() -> None:
    """And found again in the current application."""
    app = Celery("pickled")
    task = app.task(lambda: None, name="t", shared=False, lazy=False)
    assert pickle.loads(pickle.dumps(task)) is task  # noqa: S301 - our own bytes
    result = app.AsyncResult("some-id")
    again = pickle.loads(pickle.dumps(result))  # noqa: S301
    assert (again, again.id) == (result, "some-id")
    app.close()


def test_a_result_is_equal_to_its_id() -> None:
    """And needs one."""
    app = make()
    result = app.AsyncResult("x")
    assert result == "x"
    assert result == AsyncResult("x", app=app)
    assert {result} == {"x"}
    assert result.app is app
    with pytest.raises(ValueError, match="id"):
        AsyncResult(None, app=app)  # type: ignore[arg-type]  # the case


def test_modules_are_discovered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing `tasks` module is none, a broken one is an error."""
    for package, content in (
        ("found_pkg", "x = 1"),
        ("broken_pkg", "import no_such_thing"),
        ("bare_pkg", None),
    ):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
        if content is not None:
            (tmp_path / package / "tasks.py").write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    app = make(include=["found_pkg"])
    app.autodiscover_tasks(["found_pkg", "bare_pkg"])
    app.autodiscover_tasks(lambda: ["found_pkg"], related_name=None)
    assert app.import_default_modules() == ["found_pkg"]
    assert {"found_pkg", "found_pkg.tasks"} <= app.loader.task_modules
    with pytest.raises(ModuleNotFoundError, match="no_such_thing"):
        app.autodiscover_tasks(["broken_pkg"], force=True)
    for name in [
        name for name in sys.modules if name.partition(".")[0] in ("found_pkg", "broken_pkg", "bare_pkg")
    ]:
        del sys.modules[name]


@pytest.mark.parametrize("option", ["backend"])
def test_options_of_tasks_that_are_not_supported_are_refused(option: str) -> None:
    """At definition, by name."""
    with pytest.raises(UnsupportedFeature, match=option):
        make().task(lambda: None, name="t", shared=False, lazy=False, **{option: 1})


def test_asynchronous_generators_are_refused() -> None:
    """They have no one result."""

    async def work():
        yield 1

    with pytest.raises(UnsupportedFeature, match="asynchronous generator"):
        make().task(work, name="t", shared=False, lazy=False)


def test_replaced_parts_of_celery_are_refused() -> None:
    """They would be ignored."""
    with pytest.raises(UnsupportedFeature, match="amqp"):
        Celery("x", amqp="proj:Amqp", set_as_current=False)


def test_eager_results_show_the_run() -> None:
    """Value, state and name; the serializer has been passed through."""
    app = make()
    echo = app.task(lambda x: x, name="echo", shared=False)
    result = echo.delay((1, {2: "two"}))
    assert isinstance(result, EagerResult)
    assert (result.get(), result.state, result.name) == ([1, {"2": "two"}], "SUCCESS", "echo")


def test_an_eager_failure_is_in_the_result() -> None:
    """Unless the setting, or `throw`, asks for it."""
    app = make()

    @app.task(shared=False)
    def fail():
        raise ValueError("boom")

    result = fail.delay()
    assert (result.state, result.failed(), "boom" in result.traceback) == ("FAILURE", True, True)
    assert repr(result.get(propagate=False)) == "ValueError('boom')"
    with pytest.raises(ValueError, match="boom"):
        result.get()
    with pytest.raises(ValueError, match="boom"):
        fail.apply(throw=True)
    app.conf.task_eager_propagates = True
    with pytest.raises(ValueError, match="boom"):
        fail.delay()


def test_sending_by_name_is_never_eager() -> None:
    """It says so, and then needs a database."""
    app = make(broker="redis://nowhere")
    with pytest.warns(AlwaysEagerIgnored), pytest.raises(UnsupportedFeature):
        app.send_task("any")


def test_handlers_are_called_in_celerys_order() -> None:
    """before_start, body, on_success or on_failure, after_return."""
    app, calls = make(), []

    class Recording(Task):
        def before_start(self, task_id, args, kwargs):
            calls.append(("before", args, kwargs))

        def on_success(self, retval, task_id, args, kwargs):
            calls.append(("success", retval))

        def on_failure(self, exc, task_id, args, kwargs, einfo):
            calls.append(("failure", repr(exc), "ZeroDivisionError" in str(einfo)))

        def after_return(self, status, retval, task_id, args, kwargs, einfo):
            calls.append(("after", status, repr(retval), einfo))

    @app.task(base=Recording, shared=False)
    def divide(x, y=1):
        return x / y

    divide.delay(4, y=2)
    divide.delay(1, 0)
    error = "ZeroDivisionError('division by zero')"
    assert calls == [
        ("before", [4], {"y": 2}),
        ("success", 2.0),
        ("after", "SUCCESS", "2.0", None),
        ("before", [1, 0], {}),
        ("failure", error, True),
        ("after", "FAILURE", error, None),
    ]


def test_a_custom_call_is_used() -> None:
    """With `super()` running the body once."""
    app, calls = make(), []

    class Counting(Task):
        def __call__(self, *args, **kwargs):
            calls.append("call")
            return super().__call__(*args, **kwargs)

    @app.task(base=Counting, shared=False)
    def work():
        calls.append("body")

    work.delay()
    assert calls == ["call", "body"]


@pytest.mark.parametrize("error", [JobCancelError("stop"), JobSnoozeError(3)])
def test_rivers_control_flow_passes_every_handler(error: BaseException) -> None:
    """Checklist 160. Also retries of every exception, a broad except in the task, groups and causes."""
    app, handled = make(), []

    class Handled(Task):
        def on_failure(self, *args):
            handled.append(args)

    options = {"base": Handled, "shared": False, "autoretry_for": (Exception,), "retry_jitter": False}

    @app.task(**options, name="bare")
    def bare():
        try:
            raise error
        except Exception as caught:
            raise AssertionError("control flow was caught") from caught

    @app.task(**options, name="grouped")
    def grouped():
        raise BaseExceptionGroup("several", [ValueError("x"), error])

    @app.task(**options, name="caused")
    def caused():
        raise RuntimeError("wrapped") from error

    for task in (bare, grouped, caused):
        with pytest.raises(BaseException) as raised:  # noqa: PT011 - the case is which one, below
            task.delay()
        assert error in (raised.value, raised.value.__cause__, *getattr(raised.value, "exceptions", ()))
    assert handled == []


def test_waiting_inside_a_task_is_refused() -> None:
    """Unless it is allowed on purpose."""
    app = make()
    inner = app.task(lambda: 1, name="inner", shared=False)

    @app.task(shared=False)
    def outer(allowed):
        if allowed:
            with allow_join_result():
                return inner.delay().get()
        return inner.delay().get()

    assert outer.delay(True).get() == 1
    with pytest.raises(RuntimeError, match="allow_join_result"):
        outer.delay(False).get()


def test_the_request_of_a_test_can_be_made_up() -> None:
    """`push_request` is what unit tests of applications use."""
    app = make()
    task = app.task(lambda self: self.request.id, name="t", bind=True, shared=False)
    task.push_request(id="made-up", retries=2, tenant="acme")
    assert (task.request.id, task.request.retries, task.request.tenant) == ("made-up", 2, "acme")
    assert task.request.headers == {"tenant": "acme"}
    assert not current_task
    task.pop_request()
    assert task.request.id is None


def test_each_thread_sees_its_own_request() -> None:
    """Two runs of one task at the same time."""
    app = make()
    barrier = threading.Barrier(2)

    @app.task(bind=True, shared=False)
    def who(self):
        barrier.wait(60)
        return [self.request.id, current_task.request.id]

    seen: dict[str, Any] = {}
    threads = [
        threading.Thread(target=lambda name=name: seen.update({name: who.apply(task_id=name).get()}))
        for name in "ab"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {"a": ["a", "a"], "b": ["b", "b"]}


def test_time_limits_of_a_request_have_two_spellings() -> None:
    """`timelimit` and the pair of names."""
    context = Context(timelimit=[60, 50])
    assert (context.time_limit, context.soft_time_limit) == (60, 50)
    context.update(timelimit=None)
    assert (context.time_limit, context.soft_time_limit) == (None, None)
    with pytest.raises(AttributeError):
        _ = context.nothing_of_this_name


def test_task_loggers_are_below_celery_task() -> None:
    """Two names are reserved."""
    logger = get_task_logger("some.module")
    assert logger.parent is not None
    assert logger.parent.name == "celery.task"
    with pytest.raises(RuntimeError):
        get_task_logger("celery.task")
