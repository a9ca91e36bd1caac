"""Arguments that nobody told us: by the name of a parameter, by the end of that name, or by its type."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

_BY_TYPE = {"int": 1, "str": "text", "float": 1.0, "bool": False, "list": [], "dict": {}}
_BY_ENDING = {"_ids": [1], "_pks": [1], "_id": 1, "_pk": 1, "_data": {}}


def made_up(function: Callable[..., Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return keyword arguments for every parameter that has no default and can be given by name."""
    wanted = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}
    ]
    return {parameter.name: _value(parameter, known) for parameter in wanted}


def _value(parameter: inspect.Parameter, known: Mapping[str, Any]) -> Any:
    if parameter.name in known:
        return known[parameter.name]
    for ending, value in _BY_ENDING.items():
        if parameter.name.endswith(ending) or parameter.name == ending.strip("_"):
            return value
    annotation = parameter.annotation
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return _BY_TYPE.get(name.partition("[")[0], "text")
