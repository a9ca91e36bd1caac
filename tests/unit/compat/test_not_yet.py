"""The attributes of an application, and how refusals by name look to those who read and import."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator

import celery
import pytest

import river_compat.celery as ours
from river_compat.celery import not_yet, platforms, refused_names
from river_compat.celery.exceptions import UnsupportedFeature

PARTS_OF_THE_PACKAGE = {"maybe_patch_concurrency"}


@pytest.fixture
def app() -> Iterator[ours.Celery]:
    """An application that is not current."""
    with ours.Celery("names", set_as_current=False) as made:
        yield made


def test_every_attribute_of_celerys_application_is_here_or_refused_by_name(app: ours.Celery) -> None:
    """Nothing that code may use ends in an error without a way out; `hasattr` stays usable."""
    theirs = celery.Celery("theirs", set_as_current=False)
    public = [name for name in dir(theirs) if not name.startswith("_")]
    for name in [name for name in public if not hasattr(app, name)]:
        with pytest.raises(UnsupportedFeature, match=rf"app\.{name} is not supported.*: ") as caught:
            getattr(app, name)
        assert isinstance(caught.value, AttributeError)


def test_what_is_refused_is_not_here(app: ours.Celery) -> None:
    """An entry of a table goes when its name arrives."""
    assert [name for name in not_yet.APPLICATION if hasattr(app, name)] == []
    for module, names in refused_names.NAMES.items():
        here = vars(importlib.import_module(f"{not_yet.PACKAGE}.{module}".rstrip(".")))
        assert [name for name in names if name in here] == []
    assert [name for name in not_yet.MODULES if f"{not_yet.PACKAGE}.{name}" in sys.modules] == []


def test_an_attribute_that_nobody_has_is_an_ordinary_error(app: ours.Celery) -> None:
    """A slip of the pen is no feature."""
    with pytest.raises(AttributeError, match="'Celery' object has no attribute 'tsaks'") as caught:
        app.tsaks  # type: ignore[attr-defined]  # noqa: B018 - it is the point
    assert not isinstance(caught.value, UnsupportedFeature)


@pytest.mark.parametrize("name", sorted(PARTS_OF_THE_PACKAGE | {"bootsteps"}))
def test_names_of_the_package_are_refused_where_they_are_imported(name: str) -> None:
    """`from river_compat.celery import chain` says what to do, not `cannot import name`."""
    with pytest.raises(UnsupportedFeature, match=rf"{name}.* is not supported"):
        exec(f"from river_compat.celery import {name}")  # noqa: S102 - the statement is the test


def test_code_that_asks_first_gets_an_answer() -> None:
    """`hasattr` answers no and `except ImportError` catches, so libraries take their other way."""
    assert not hasattr(refused_names, "unknown")
    assert not hasattr(platforms, "check_privileges")
    with pytest.raises(ImportError, match=r"celery\.platforms\.check_privileges is not supported"):
        from river_compat.celery.platforms import check_privileges as check_privileges
    with pytest.raises(ImportError, match="cannot import name 'chekc'"):
        exec("from river_compat.celery.platforms import chekc")  # noqa: S102 - the statement is the test


def test_a_subclass_may_define_what_its_base_refuses() -> None:
    """The class refuses what is read from it, not what is written there."""
    with pytest.raises(UnsupportedFeature, match=r"Task\.send_event is not supported.*: workers send no"):
        ours.Task.send_event  # type: ignore[attr-defined]  # noqa: B018 - it is the point
    own = type("Own", (ours.Task,), {"send_event": lambda self: "sent"})
    assert own().send_event() == "sent"


def test_a_module_below_a_refused_one_is_refused_too() -> None:
    """By its parent."""
    with pytest.raises(UnsupportedFeature, match="security"):
        importlib.import_module("river_compat.celery.security.certificate")
