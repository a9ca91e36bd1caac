"""From dotted paths to modules and objects, the way Celery and RQ applications name them."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any


@contextmanager
def working_directory_first() -> Iterator[None]:
    """Let imports see the working directory, as `python -m` does, while the block runs and after it."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    yield


def import_path(path: str) -> Any:
    """Return the object that `module`, `module:name` or `module.name` stands for.

    Raises ImportError or AttributeError when it does not exist; errors inside the module pass through.
    """
    module, separator, attribute = path.partition(":")
    if separator:
        return _attribute(importlib.import_module(module), attribute)
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        parent, _, attribute = path.rpartition(".")
        if not parent or error.name != path:
            raise
        return _attribute(importlib.import_module(parent), attribute)


def _attribute(module: ModuleType, dotted: str) -> Any:
    found: Any = module
    for name in dotted.split("."):
        found = getattr(found, name)
    return found


def import_submodule(package: str, name: str | None) -> ModuleType | None:
    """Import `package.name` where it exists, or the package itself when `name` is None.

    Returns None where the package has no such module. Errors inside a module that exists pass through.
    """
    parent = _nearest_package(package)
    if name is None:
        return parent
    if not hasattr(parent, "__path__"):
        return None
    full = f"{parent.__name__}.{name}"
    return importlib.import_module(full) if importlib.util.find_spec(full) else None


def _nearest_package(path: str) -> ModuleType:
    """Import `path`, or what it is in: Django names its applications by a class in a module, too."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        parent = path.rpartition(".")[0]
        if not parent:
            raise
        return _nearest_package(parent)


def near_misses(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Return the known names that look most like `name`: first by spelling, then by the last part."""
    names = list(known)
    close = get_close_matches(name, names, limit, 0.75)
    last = name.rpartition(".")[2]
    same_ending = [other for other in names if other.rpartition(".")[2] == last]
    return list(dict.fromkeys([*close, *same_ending]))[:limit]
