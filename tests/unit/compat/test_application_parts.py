"""What comes with an application: annotations, signals, loaders, connections, types, coroutines."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kombu.exceptions import OperationalError

from river_compat.celery import Celery, Task
from river_compat.celery.contrib.testing.drain import drain
from river_compat.celery.exceptions import Reject, UnsupportedFeature
from river_compat.celery.loaders.app import AppLoader
from river_compat.celery.signals import before_task_publish


def make(**settings: Any) -> Celery:
    settings.setdefault("broker", "memory://parts")
    return Celery("parts", set_as_current=False, **settings)


@pytest.fixture
def app() -> Iterator[Celery]:
    with make(task_priority_scheme="redis") as app:
        drain(app)
        yield app


def test_annotations_set_options_and_wrap_methods() -> None:
    """Row 1.23: those of the name win over those of every task, and a decorator goes around a method."""
    calls: list[Any] = []

    def around(method: Any) -> Any:
        def inner(*args: Any) -> Any:
            calls.append(args[1:])
            return method(*args)

        return inner

    app = make(task_annotations=({"add": {"priority": 3, "@__call__": around}, "*": {"max_retries": 1}},))
    task = app.task(lambda x, y: x + y, name="add", shared=False)
    assert (task(2, 3), calls) == (5, [(2, 3)])
    assert (task.max_retries, task.priority) == (1, 3)
    task.annotate()
    assert (task(2, 4), calls) == (6, [(2, 3), (2, 4)])


def test_signals_of_an_application_come_in_order() -> None:
    """Row 1.19."""
    app, heard = make(), []
    app.on_configure.connect(lambda **kw: heard.append("configure"), weak=False)
    app.on_after_configure.connect(lambda source, **kw: heard.append(source is app.conf), weak=False)
    app.on_after_finalize.connect(lambda **kw: heard.append("finalize"), weak=False)
    assert app.conf.task_default_queue == "celery"
    app.finalize()
    assert heard == ["configure", True, "finalize"]


def test_a_loader_of_ones_own_finds_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows 1.13, 22.7: also the module of CELERY_CONFIG_MODULE, for any loader."""

    class Loader(AppLoader):
        def read_configuration(self, env: str = "") -> Any:
            return {"task_default_queue": "loaded"}

    assert make(loader=Loader).conf.task_default_queue == "loaded"
    monkeypatch.setitem(sys.modules, "some_config", type(sys)("some_config"))
    sys.modules["some_config"].task_default_queue = "named"  # type: ignore[attr-defined]
    monkeypatch.setenv("CELERY_CONFIG_MODULE", "some_config")
    assert make().conf.task_default_queue == "named"


def test_a_health_check_asks_the_database(app: Celery) -> None:
    """Row 1.25: and fails soon where nothing answers."""
    with app.connection() as connection:
        assert connection.ensure_connection(max_retries=1).connected
    dead = make(broker="postgresql://someone:secret@127.0.0.1:1/nowhere")
    assert "secret" not in dead.connection().as_uri()
    with pytest.raises(OperationalError):
        dead.connection_for_read().ensure_connection(max_retries=0)


def test_a_report_hides_secrets() -> None:
    """Row 1.26."""
    text = make(broker="postgresql://me:secret@host/db").bugreport()
    assert "river-compat:" in text
    assert "postgresql://me:********@host/db results:the tasks' own rows\n" in text
    assert "secret" not in text
    ignored = make(broker="postgresql://me:secret@host/db", backend="redis://:hidden@host/1").bugreport()
    assert "results:the tasks' own rows (result_backend=redis://" in ignored
    assert "hidden" not in ignored


def test_a_connection_refuses_what_only_a_broker_has(app: Celery) -> None:
    """Where people ask for the length of a queue, the way out is named; `hasattr` answers no."""
    with app.connection() as connection:
        with pytest.raises(UnsupportedFeature, match="job_count_by_queue"):
            connection.default_channel.queue_declare("celery", passive=True)
        assert not hasattr(connection, "default_channel")
        with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
            _ = connection.nonsense


@pytest.mark.parametrize("name", ["pool", "producer_or_acquire"])
def test_a_refused_attribute_names_the_way_out(app: Celery, name: str) -> None:
    """Not only that there is no broker."""
    with pytest.raises(UnsupportedFeature, match="apply_async"):
        getattr(app, name)


def test_a_call_on_the_applications_connection_is_sent(app: Celery) -> None:
    """Celery's own idiom; there is no transaction to join."""
    with app.connection() as connection:
        result = app.send_task("work", connection=connection)
    assert result.state == "PENDING"
    assert result.exists()


def test_an_application_is_pickled_by_its_settings(app: Celery) -> None:
    """Row 1.27."""
    app.conf.MY_OWN = "kept"
    again = pickle.loads(pickle.dumps(app))  # noqa: S301 - made here
    assert (again.main, again.conf.MY_OWN, again.conf.broker_url) == ("parts", "kept", "memory://parts")


TYPED = """
from river_compat.celery import Celery, shared_task
from river_compat.celery.result import AsyncResult

app = Celery("typed")

@app.task
def add(x: int, y: int) -> int:
    return x + y

@app.task(bind=True, max_retries=3)
def bound(self: object, text: str) -> str:
    return text

@app.task
async def later(x: int) -> int:
    return x

good: AsyncResult[int] = add.delay(1, 2)
also: AsyncResult[str] = bound.delay("x")
sent: AsyncResult[int] = later.delay(1)
"""


@pytest.mark.parametrize(
    ("line", "code"), [("", 0), ('add.delay("1", 2)', 1), ("bound.delay(5)", 1), ("add.delay(1)", 1)]
)
def test_calls_are_typed(line: str, code: int, tmp_path: Path) -> None:
    """Row 22.6: mypy takes the right call and refuses a wrong argument."""
    path = tmp_path / "typed.py"
    path.write_text(TYPED + line + "\n")
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == code, ran.stdout


def test_coroutines_send_without_blocking(app: Celery) -> None:
    """▲17."""
    task = app.task(lambda x: x * 2, name="twice", shared=False)

    async def send() -> Any:
        return await task.adelay(4), await task.aapply_async((5,), queue="other")

    first, second = asyncio.run(send())
    drain(app)
    drain(app, queue="other")
    assert (first.get(timeout=5), second.get(timeout=5)) == (8, 10)


def test_a_broken_module_is_an_error_and_a_missing_one_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O07, row 1.16."""
    for package, text in (("whole_o07", None), ("broken_o07", "import no_such_thing_o07\n")):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
        if text is not None:
            (tmp_path / package / "tasks.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    app = make()
    app.autodiscover_tasks(["whole_o07"], force=True)
    app.autodiscover_tasks(["broken_o07"])
    with pytest.raises(ModuleNotFoundError, match="no_such_thing_o07"):
        app.import_default_modules()


def test_a_call_by_name_takes_the_tasks_own_options(app: Celery) -> None:
    """O08, row 1.20: what the call gives wins; unknown names take the settings'."""
    app.task(lambda: None, name="x", queue="q1", shared=False)
    app.finalize()
    for options in ({}, {"queue": "q2"}):
        app.send_task("x", **options)
    assert [len(drain(app, queue=name)) for name in ("q1", "q2", "celery")] == [1, 1, 0]


def test_headers_reach_every_run(app: Celery) -> None:
    """O09, row 3.15: on retries and in the steps of a chain, too, and a receiver may add to them."""
    seen: list[Any] = []

    @app.task(bind=True, name="traced", shared=False, default_retry_delay=0)
    def traced(self: Any) -> None:
        seen.append((self.request.headers, self.request.retries))
        if not self.request.retries:
            raise self.retry(countdown=0)

    def add(headers: Any, **kwargs: Any) -> None:
        headers["y"] = "2"

    before_task_publish.connect(add, sender="traced")
    try:
        traced.apply_async(headers={"x": "1"})
        drain(app)
        assert [run for _, run in seen] == [0, 1]
        step = traced.si().set(headers={"x": "1"})
        (step.clone() | step.clone()).apply_async()
        while drain(app):
            pass
    finally:
        before_task_publish.disconnect(add, sender="traced")
    assert [run for _, run in seen] == [0, 1] * 3
    assert all(headers["x"] == "1" and headers["y"] == "2" for headers, _ in seen)


def test_reject_passes_a_broad_autoretry(app: Celery) -> None:
    """O19: Celery tries it again by accident."""
    runs: list[int] = []

    @app.task(name="rejecting", autoretry_for=(Exception,), max_retries=5, shared=False)
    def rejecting() -> None:
        runs.append(1)
        raise Reject("no", requeue=False)

    rejecting.delay()
    drain(app)
    assert runs == [1]


class Tenant(Task[..., Any]):
    """A library's task: it adds an argument where it is sent and takes it off where it runs."""

    abstract = True
    seen: list[Any] = []  # noqa: RUF012 - what the class was given, for the test

    def apply_async(self, args: Any = None, kwargs: Any = None, *rest: Any, **options: Any) -> Any:
        return super().apply_async(args, {**(kwargs or {}), "tenant": "t1"}, *rest, **options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.seen.append(kwargs.pop("tenant", None))
        return super().__call__(*args, **kwargs)


@pytest.mark.parametrize("given", ["task_cls", "Task"])
def test_a_task_class_of_a_library_is_every_tasks(given: str) -> None:
    """O22, row 1.22: through delay, signatures in a chord, and a retry."""
    Tenant.seen.clear()
    app = make(broker=f"memory://{given}", **({"task_cls": Tenant} if given == "task_cls" else {}))
    if given == "Task":
        app.Task = Tenant

    @app.task(name="plus", shared=False, typing=False)
    def plus(x: int, y: int) -> int:
        return x + y

    @app.task(name="total", shared=False, typing=False)
    def total(numbers: list[int]) -> int:
        return sum(numbers)

    @app.task(name="again", bind=True, shared=False, typing=False)
    def again(self: Any) -> int:
        if not self.request.retries:
            raise self.retry(countdown=0)
        return 7

    chord = app.canvas.chord
    sent = [plus.delay(1, 2), chord([plus.s(1, 1), plus.s(2, 2)])(total.s()), again.delay()]
    while drain(app):
        pass
    assert [result.get(timeout=5) for result in sent] == [3, 6, 7]
    assert set(Tenant.seen) == {"t1"}
