"""Modules and objects by name (`celery.utils.imports`)."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import kombu.utils.imports

__all__ = [
    "NotAPackage",
    "cwd_in_path",
    "find_module",
    "gen_task_name",
    "import_from_cwd",
    "instantiate",
    "load_extension_class_names",
    "load_extension_classes",
    "module_file",
    "qualname",
    "reload_from_cwd",
    "symbol_by_name",
]

symbol_by_name: Callable[..., Any] = kombu.utils.imports.symbol_by_name
MP_MAIN_FILE: str | None = None


class NotAPackage(Exception):  # noqa: N818 - the name is Celery's
    """A dotted name goes through a module that is no package."""


def qualname(obj: Any) -> str:
    """Return `module.Name` of an object or of its class."""
    named = obj if hasattr(obj, "__name__") else type(obj)
    return f"{named.__module__}.{getattr(named, '__qualname__', named.__name__)}"


def instantiate(name: Any, *args: Any, **kwargs: Any) -> Any:
    """Make an instance of a class given by path."""
    return symbol_by_name(name)(*args, **kwargs)


@contextmanager
def cwd_in_path() -> Iterator[None]:
    """Let imports see the working directory, first, while the block runs."""
    here = str(Path.cwd())
    if here in sys.path:
        yield
        return
    sys.path.insert(0, here)
    try:
        yield
    finally:
        if here in sys.path:
            sys.path.remove(here)


def find_module(module: str, path: Any = None, imp: Callable[..., Any] | None = None) -> Any:
    """Return the spec of a module, looking into the working directory first.

    Raises NotAPackage where a part of the name is a module without submodules.
    """
    del path
    load = imp or importlib.import_module
    with cwd_in_path():
        *parents, _ = module.split(".")
        for position in range(len(parents)):
            name = ".".join(parents[: position + 1])
            if not hasattr(load(name), "__path__"):
                raise NotAPackage(name)
        return importlib.util.find_spec(module)


def import_from_cwd(module: str, imp: Callable[..., Any] | None = None, package: str | None = None) -> Any:
    """Import a module, looking into the working directory first."""
    with cwd_in_path():
        return (imp or importlib.import_module)(module, package=package)


def reload_from_cwd(module: ModuleType, reloader: Callable[..., Any] | None = None) -> Any:
    """Import a module again."""
    with cwd_in_path():
        return (reloader or importlib.reload)(module)


def module_file(module: ModuleType) -> str:
    """Return the path of a module's source."""
    name = module.__file__ or ""
    return name[:-1] if name.endswith(".pyc") else name


def gen_task_name(app: Any, name: str, module_name: str | None) -> str:
    """Return `module.name`; for a script the application's `main` stands for its module."""
    module_name = module_name or "__main__"
    loaded = sys.modules.get(module_name)
    main = app.main or "__main__"
    if loaded is not None:
        module_name = loaded.__name__
        if MP_MAIN_FILE and loaded.__file__ == MP_MAIN_FILE:
            module_name = "__main__"
    return f"{main if module_name == '__main__' else module_name}.{name}"


def load_extension_class_names(namespace: str) -> Iterator[tuple[str, str]]:
    """Give name and path of each entry point of a group."""
    for point in entry_points(group=namespace):
        yield point.name, point.value


def load_extension_classes(namespace: str) -> Iterator[tuple[str, Any]]:
    """Give name and class of each entry point of a group."""
    for name, path in load_extension_class_names(namespace):
        yield name, symbol_by_name(path)
