"""Settings from a command line: `task_always_eager=no`, `.concurrency=4`, `foo=(int)3`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from river_compat.celery.app.defaults import NAMESPACES, Option, find
from river_compat.celery.utils.serialization import strtobool

_CAST = re.compile(r"\((\w+)\)(.*)", re.DOTALL)
_CASTS: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "string": str,
    "bool": strtobool,
    "dict": json.loads,
    "list": json.loads,
    "tuple": lambda text: tuple(json.loads(text)),
}


def parse(
    args: Iterable[str], namespace: str = "celery", **more_casts: Callable[[str], Any]
) -> dict[str, Any]:
    """Return settings by name; a name that begins with a dot, or a section, is in `namespace`.

    Values are of the setting's type, or of the one before them in brackets. Raises ValueError for a
    value that is not of its type.
    """
    return dict(_setting(arg, namespace.lower(), _CASTS | more_casts) for arg in args)


def _setting(arg: str, namespace: str, casts: dict[str, Callable[[str], Any]]) -> tuple[str, Any]:
    key, _, text = arg.partition("=")
    key = key.lower().replace(".", "_")
    name = f"{namespace}{key}" if key.startswith("_") else key
    cast = _CAST.fullmatch(text)
    if cast is not None:
        return name, casts[cast[1]](cast[2])
    return name, _typed(arg, name, text)


def _typed(arg: str, name: str, text: str) -> Any:
    try:
        option = find(name).type
    except KeyError:
        section, _, _ = name.partition("_")
        if section in NAMESPACES:
            text = f"{arg!r}: no setting is named {name!r}; name a type to set it: {name}=(string)..."
            raise ValueError(text) from None
        return text
    if not isinstance(option, Option):
        return text
    try:
        return option.to_python(text)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{arg!r}: {error}") from None
