"""Every public name of the installed Celery is here with its parameters, or is refused with the way out.

Compared by machine: modules, the names that they define, the attributes of their classes, and the parameters
of their functions and methods.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import river_compat.celery as package
from river_compat.celery import not_yet
from river_compat.celery.app.task import Context
from river_compat.celery.exceptions import UnsupportedAttribute, UnsupportedFeature, UnsupportedImport
from tests.unit.compat import celery_names

REFUSED = r" is not supported by river_compat: ."

NOT_COMPARED = {
    "backends.base.Backend": "made by the application alone",
    "backends.base.BaseBackend": "made by the application alone",
    "backends.base.BaseDictBackend": "made by the application alone",
    "app.utils.Settings": "made by the application alone",
    "worker.request.Request": "made by the worker alone",
    "app.amqp.AMQP.Queues": "a method there, the class here: looked up on an object both take the same",
    "app.amqp.AMQP.Router": "a method there, the class here: looked up on an object both take the same",
    "contrib.pytest.celery_session_worker": "a fixture: pytest gives the parameters",
    "contrib.pytest.celery_worker": "a fixture: pytest gives the parameters",
}
"""Functions whose parameters nobody gives."""


def shared_modules() -> list[str]:
    """Return the modules that both have, the package itself as an empty name."""
    return ["", *(name for name in celery_names.modules() if not is_refused(name))]


def is_refused(module: str) -> bool:
    parts = module.split(".")
    return any(".".join(parts[: length + 1]) in not_yet.MODULES for length in range(len(parts)))


def both(module: str) -> tuple[Any, Any]:
    """Import Celery's module and ours; skip where Celery needs a package that is not installed."""
    theirs = celery_names.theirs(module)
    if theirs is None:
        pytest.skip("Celery's module needs a package that is not installed")
    return theirs, celery_names.ours(module)


def is_silent(thing: Any, name: str) -> bool:
    """Whether an attribute is neither there nor refused with the way out."""
    try:
        getattr(thing, name)
    except UnsupportedAttribute as refused:
        return not re.search(rf"\b{name}{REFUSED}", str(refused))
    except AttributeError:
        return True
    return False


@pytest.mark.parametrize("name", celery_names.modules())
def test_every_module_is_here_or_refused_by_name(name: str) -> None:
    """`import` of one that is missing is an ImportError with the way out."""
    if not is_refused(name):
        celery_names.ours(name)
        return
    with pytest.raises(UnsupportedImport, match=rf"celery\.[\w.]+{REFUSED}"):
        celery_names.ours(name)


@pytest.mark.parametrize("module", shared_modules())
def test_every_name_of_a_module_is_here_or_refused_by_name(module: str) -> None:
    """Reading it, and importing it, says what to do instead."""
    theirs, ours = both(module)
    missing = [name for name in celery_names.public_names(theirs) if not hasattr(ours, name)]
    assert [name for name in missing if is_silent(ours, name)] == []
    for name in missing:
        with pytest.raises(UnsupportedImport, match=rf"{name}{REFUSED}"):
            exec(f"from {ours.__name__} import {name}")  # noqa: S102 - the statement is the test


@pytest.mark.parametrize("module", shared_modules())
def test_every_attribute_of_a_class_is_here_or_refused_by_name(module: str, samples: Samples) -> None:
    """Of the class, or of an object of it: Celery gives many fields a default in the class."""
    theirs, ours = both(module)
    silent = []
    for name, cls in celery_names.classes(theirs):
        for attribute in celery_names.attributes(cls) if hasattr(ours, name) else ():
            if not samples.answers(getattr(ours, name), attribute):
                silent.append(f"{name}.{attribute}")
    assert silent == []


@pytest.mark.parametrize("module", shared_modules())
def test_every_parameter_is_taken(module: str) -> None:
    """By name, and where it may be given by position in the same place."""
    theirs, ours = both(module)
    different = {}
    for name, function in celery_names.functions(theirs):
        mine = ours
        try:
            for part in name.split("."):
                mine = getattr(mine, part)
        except AttributeError:
            continue
        where = f"{module}.{name}".strip(".")
        if where not in NOT_COMPARED and (wrong := differences(function, mine)):
            different[name] = wrong
    assert different == {}


def differences(theirs: Callable[..., Any], ours: Callable[..., Any]) -> list[str]:
    """Return the parameters that are lost or elsewhere; fewer may be given by position here, which raises."""
    wanted, given = celery_names.parameters(theirs), celery_names.parameters(ours)
    if wanted is None or given is None:
        return []
    kinds = {each.kind for each in given}
    names = {each.name for each in given}
    by_name = [each.name for each in wanted if each.kind in BY_NAME]
    lost = [] if inspect.Parameter.VAR_KEYWORD in kinds else [name for name in by_name if name not in names]
    here, there = positions(given), positions(wanted)
    return lost + [f"{a} at the place of {b}" for a, b in zip(here, there, strict=False) if a != b]


BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def positions(parameters: list[inspect.Parameter]) -> list[str]:
    """Return the names of those that may be given by position."""
    return [each.name for each in parameters if each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]


class Samples:
    """Objects of our classes, to look at the attributes that only objects have."""

    def __init__(self, folder: Path) -> None:
        """Make what takes arguments of its own; the rest is made without any."""
        self.app = app = package.Celery(
            "names", set_as_current=False, river_database_url=f"sqlite:///{folder}/names.db"
        )
        self.made: dict[Any, Any] = {}
        task = app.task(print, name="names.task")
        self.arguments: dict[str, tuple[Any, ...]] = {
            "AsyncResult": ("id", None, None, app),
            "AbortableAsyncResult": ("id", None, None, app),
            "EagerResult": ("id", None, "SUCCESS"),
            "DictAttribute": (object(),),
            "ConfigurationView": ({},),
            "Scheduler": (app,),
            "ReceivedRequest": (task, Context()),
            "UnpickleableExceptionWrapper": ("module", "name", ()),
        }

    def answers(self, cls: Any, attribute: str) -> bool:
        """Whether an attribute is there, or refused with the way out."""
        if not is_silent(cls, attribute):
            return True
        try:
            return not is_silent(self.of(cls), attribute)
        except UnsupportedFeature:
            return True

    def of(self, cls: Any) -> Any:
        if cls not in self.made:
            self.made[cls] = self._make(cls)
        return self.made[cls]

    def _make(self, cls: Any) -> Any:
        given = self.arguments.get(cls.__name__)
        if given is not None:
            return cls(*given)
        takes_app = "app" in list(inspect.signature(cls).parameters)[:1]
        return cls(self.app) if takes_app else cls()


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Samples]:
    """Objects of our classes."""
    made = Samples(tmp_path_factory.mktemp("names"))
    with made.app:
        yield made
