"""Every name of the installed Celery is either here or refused by name, with the way out."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator

import celery
import celery.app
import pytest

import river_compat.celery as ours
from river_compat.celery import not_yet
from river_compat.celery.exceptions import UnsupportedFeature

PACKAGES = ((celery, ""), (celery.app, "app."))
MODULES = [
    f"{prefix}{module.name}"
    for package, prefix in PACKAGES
    for module in pkgutil.iter_modules(package.__path__)
    if module.name != "__main__"
]
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
    assert [name for name in not_yet.NAMES if name in vars(ours)] == []
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


@pytest.mark.parametrize("name", MODULES)
def test_every_module_of_celery_is_here_or_refused_by_name(name: str) -> None:
    """`import` of one that is missing is an ImportError with the way out."""
    if name not in not_yet.MODULES:
        importlib.import_module(f"{not_yet.PACKAGE}.{name}")
        return
    with pytest.raises(ImportError, match=rf"celery\.{name} is not supported.*: ") as caught:
        importlib.import_module(f"{not_yet.PACKAGE}.{name}")
    assert isinstance(caught.value, UnsupportedFeature)


def test_a_module_below_a_refused_one_is_refused_too() -> None:
    """By its parent."""
    with pytest.raises(UnsupportedFeature, match="security"):
        importlib.import_module("river_compat.celery.security.certificate")
