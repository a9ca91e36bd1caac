"""Imports of the package celery itself that a move has forgotten: nothing goes wrong in silence."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import celery
import celery.contrib.abortable
import celery.exceptions
import pytest

from river_compat.celery import Celery, Task, chain, group
from river_compat.celery.exceptions import SoftTimeLimitExceeded, UnsupportedFeature
from river_compat.celery.leftovers import leftovers

theirs = celery.Celery("theirs", set_as_current=False)


@theirs.task(name="mail")
def mail(to: str) -> str:
    """A task of Celery's own application."""
    return to


@pytest.fixture
def app() -> Iterator[Celery]:
    """An application whose tasks run here."""
    with Celery("leftovers", set_as_current=False, broker="memory://leftovers") as app:
        yield app


@pytest.fixture
def add(app: Celery) -> Any:
    """A task of ours."""
    return app.task(lambda x, y: x + y, name="add", shared=False)


def held_by(monkeypatch: pytest.MonkeyPatch, name: str, path: str, **values: object) -> None:
    """Let there be a module that holds these values."""
    module = ModuleType(name)
    module.__file__ = path
    vars(module).update(values)
    monkeypatch.setitem(sys.modules, name, module)


def test_a_module_is_named_with_what_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions, classes, modules, proxies and instances; three by name."""
    held: dict[str, object] = {"app": theirs, "send": mail, "Base": celery.Task, "celery": celery, "x": 1}
    held_by(monkeypatch, "aa_shop", "/srv/aa_shop.py", **held)
    [found] = [str(one) for one in leftovers() if one.module == "aa_shop"]
    assert found.startswith("aa_shop (app of celery.app.base, send of celery.local, Base of celery.app.task")
    assert found.endswith(" and 1 more)")


def test_installed_modules_are_named_where_they_hold_the_applications_tasks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Integrations of other packages are no reason while the application has some of its own."""
    held_by(monkeypatch, "aa_shop", "/venv/lib/site-packages/aa_shop.py", Base=celery.Task)
    assert "aa_shop" not in {one.module for one in leftovers()}
    assert "aa_shop" in {one.module for one in leftovers(frozenset({"aa_shop"}))}


def test_a_proxy_is_not_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    """To look at a lazy object must not make it."""

    class Lazy:
        @property
        def __class__(self) -> Any:  # what isinstance asks
            raise AssertionError("evaluated")

    held_by(monkeypatch, "aa_shop", "/srv/aa_shop.py", lazy=Lazy())
    assert "aa_shop" not in {one.module for one in leftovers()}


@pytest.mark.parametrize("base", [celery.Task, celery.contrib.abortable.AbortableTask])
def test_a_base_class_of_celerys_is_refused_by_its_import(app: Celery, base: type) -> None:
    """Wrong and right import are both in the text."""
    kind: Any = type("Own", (base,), {"name": "own", "run": lambda self: None})
    right = f"import {base.__name__} from river_compat.{base.__module__}"
    for define in (
        lambda: app.register_task(kind()),
        lambda: app.task_from_function(lambda: 1, name="based", base=base),
    ):
        with pytest.raises(UnsupportedFeature, match=f"class {base.__module__}.{base.__name__}.*{right}"):
            define()
    assert not {"own", "based"} & set(app.tasks)


def test_a_task_of_celerys_is_refused(app: Celery) -> None:
    """It belongs to another application."""
    with pytest.raises(UnsupportedFeature, match=r"task mail .*shared_task"):
        app.register_task(mail)


def test_a_chain_with_a_signature_of_celerys_is_refused(add: Any) -> None:
    """Both are dicts: what is left would be the last step alone."""
    sig = celery.signature("add", (3,))
    for build in (
        lambda: add.s(1, 2) | sig,
        lambda: chain(add.s(1, 2), add.s(3), sig),
        lambda: (add.s(1, 2) | add.s(3)) | sig,
        lambda: celery.chain(add.s(1, 2), add.s(3)),
        lambda: sig | add.s(3),
    ):
        with pytest.raises(UnsupportedFeature, match=r"celery.canvas.*package celery; import signature"):
            build()


def test_a_group_runs_signatures_of_celerys_by_name(add: Any) -> None:
    """They are dicts, and only that is read."""
    assert group(add.s(1, 2), celery.signature("add", (3, 4))).apply().get() == [3, 7]


@pytest.mark.parametrize("name", ["Ignore", "Reject", "Retry"])
def test_an_exception_of_celerys_that_directs_a_worker_is_named(
    app: Celery, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    """The task fails, and the log has both imports; behind an automatic retry, too."""
    error = getattr(celery.exceptions, name)

    def fail() -> None:
        raise error

    plain = app.task(fail, name="plain", shared=False)
    retried: Task[..., Any] = app.task(
        fail, name="retried", shared=False, autoretry_for=(Exception,), max_retries=0
    )
    for task in (plain, retried):
        caplog.clear()
        with caplog.at_level(logging.ERROR):
            assert task.apply().state == "FAILURE"
        assert f"raising celery.exceptions.{name} is not supported" in caplog.text
        assert f"import {name} from river_compat.celery.exceptions" in caplog.text


def test_a_soft_time_limit_has_one_class() -> None:
    """Where Celery is installed both are billiard's: `except` under either name catches it."""
    assert SoftTimeLimitExceeded is celery.exceptions.SoftTimeLimitExceeded
