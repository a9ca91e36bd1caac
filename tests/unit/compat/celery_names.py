"""What the installed Celery offers to those who import it, by module, class and parameter."""

from __future__ import annotations

import ast
import importlib
import inspect
import logging
import pkgutil
import typing
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import celery

THEIRS, OURS = "celery", "river_compat.celery"


def modules() -> list[str]:
    """Return the names of all modules below `celery`; none is imported for that."""
    return list(_below(Path(celery.__file__).parent, ""))


def _below(folder: Path, prefix: str) -> Iterator[str]:
    for found in pkgutil.iter_modules([str(folder)]):
        if found.name == "__main__":
            continue
        name = f"{prefix}{found.name}"
        yield name
        if found.ispkg:
            yield from _below(folder / found.name, f"{name}.")


def ours(module: str) -> ModuleType:
    """Import our module of that name; raises ImportError."""
    return importlib.import_module(f"{OURS}.{module}" if module else OURS)


def theirs(module: str) -> ModuleType | None:
    """Import Celery's module of that name, None where a package that it needs is not installed."""
    try:
        return importlib.import_module(f"{THEIRS}.{module}" if module else THEIRS)
    except ModuleNotFoundError:
        return None


@cache
def public_names(module: ModuleType) -> tuple[str, ...]:
    """Return what a module offers: what `__all__` lists, and what it defines itself, without underscores."""
    listed, assigned = set(getattr(module, "__all__", ())), _assigned(module)
    offered = (name for name in dir(module) if name in listed or _is_own(module, name, assigned))
    return tuple(name for name in offered if not name.startswith("_"))


def _is_own(module: ModuleType, name: str, assigned: set[str]) -> bool:
    value = getattr(module, name, None)
    if isinstance(getattr(value, "__self__", value), ModuleType | logging.Logger | typing.TypeVar):
        return False
    if inspect.isclass(value) or inspect.isfunction(value):
        return value.__module__ == module.__name__
    return name in assigned


def _assigned(module: ModuleType) -> set[str]:
    """Return the names that the statements of a module assign; what it imports is another's."""
    tree = ast.parse(Path(module.__file__ or "").read_text())
    return {
        each.id for each in _of_module(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }


def _of_module(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            yield child
            yield from _of_module(child)


def classes(module: ModuleType) -> Iterator[tuple[str, type[Any]]]:
    """Give the public classes that are Celery's own."""
    for name in public_names(module):
        value = getattr(module, name)
        if inspect.isclass(value) and _is_celerys(value):
            yield name, value


def attributes(cls: type[Any]) -> Iterator[str]:
    """Give the public attributes that a class has of Celery, not of a base from elsewhere."""
    own: dict[str, None] = {}
    for base in cls.__mro__:
        if _is_celerys(base):
            own.update(dict.fromkeys(vars(base)))
            own.update(dict.fromkeys(getattr(base, "__annotations__", ())))
    return (name for name in own if not name.startswith("_"))


def functions(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Give the functions of a module, its classes for their constructors, and the methods of those."""
    for name in public_names(module):
        value = getattr(module, name)
        if not callable(value) or not _is_celerys(value):
            continue
        yield name, value
        if inspect.isclass(value):
            for attribute in attributes(value):
                method = inspect.getattr_static(value, attribute, None)
                if inspect.isfunction(method) or isinstance(method, staticmethod | classmethod):
                    yield f"{name}.{attribute}", getattr(value, attribute)


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """Return the parameters of a function, None where it does not tell them.

    A parameter whose default has its name only binds a global early, for speed, and is left out.
    """
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return [each for each in found if getattr(each.default, "__name__", None) != each.name]


def _is_celerys(value: Any) -> bool:
    module = getattr(value, "__module__", None) or ""
    return module == THEIRS or module.startswith(f"{THEIRS}.")
