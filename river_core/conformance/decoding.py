"""Reads params strictly: a field that is unknown or of another type refuses the request."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from river_core.conformance.failures import invalid_params

P = TypeVar("P")

_HINTS: dict[type[Any], dict[str, Any]] = {}  # they cost more to read than a large batch to decode

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")


def decode(kind: type[P], params: Any) -> P:
    """Return params as `kind`, a dataclass; raises CodedError. Absent params are empty ones."""
    decoded: P = _object(kind, {} if params is None else params, "params")
    return decoded


def _object(kind: type[Any], value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise invalid_params(f"{where} must be an object")
    hints = _hints(kind)
    if unknown := sorted(value.keys() - hints.keys()):
        raise invalid_params(f"{where} has no field {unknown[0]!r}")
    given = {name: item for name, item in value.items() if item is not None}
    for entry in fields(kind):
        if entry.name not in given and entry.default is MISSING and entry.default_factory is MISSING:
            raise invalid_params(f"{where}.{entry.name} is missing")
    return kind(**{name: _value(hints[name], item, f"{where}.{name}") for name, item in given.items()})


def _hints(kind: type[Any]) -> dict[str, Any]:
    if kind not in _HINTS:
        _HINTS[kind] = get_type_hints(kind)
    return _HINTS[kind]


def _value(kind: Any, value: Any, where: str) -> Any:
    if get_origin(kind) is UnionType:
        kind = next(member for member in get_args(kind) if member is not NoneType)
    if get_origin(kind) is list:
        return _list(get_args(kind)[0], value, where)
    if is_dataclass(kind) and isinstance(kind, type):
        return _object(kind, value, where)
    if kind is datetime:
        return _time(value, where)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return _member(kind, value, where)
    if type(value) is not (get_origin(kind) or kind) or (kind is int and not -(2**63) <= value < 2**63):
        raise invalid_params(f"{where} must be of type {kind}")
    return value


def _list(kind: Any, value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise invalid_params(f"{where} must be a list")
    return [_value(kind, item, f"{where}[{position}]") for position, item in enumerate(value)]


def _time(value: Any, where: str) -> datetime:
    if not isinstance(value, str) or not _RFC3339.fullmatch(value):
        raise invalid_params(f"{where} must be a time as RFC 3339 spells it")
    try:
        return datetime.fromisoformat(value)
    except ValueError as error:
        raise invalid_params(f"{where}: {error}") from error


def _member(kind: type[StrEnum], value: Any, where: str) -> StrEnum:
    try:
        return kind(value)
    except ValueError as error:
        raise invalid_params(f"{where}: {error}") from error
