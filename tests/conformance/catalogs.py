"""Compare two catalogs, given as nested dicts and lists, and name every place where they differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def differences(expected: Any, actual: Any, path: str = "") -> list[str]:
    """Return one line for each leaf that is missing, unexpected or another value."""
    return list(_differences(expected, actual, path))


def by_name(entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Turn a list whose order means nothing into a dict, so that a difference names its entry."""
    return {entry["name"]: entry for entry in entries}


def _differences(expected: Any, actual: Any, path: str) -> Iterator[str]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            if key not in actual:
                yield f"{path}/{key}: missing"
            elif key not in expected:
                yield f"{path}/{key}: unexpected"
            else:
                yield from _differences(expected[key], actual[key], f"{path}/{key}")
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (one, other) in enumerate(zip(expected, actual, strict=True)):
            yield from _differences(one, other, f"{path}/{index}")
    elif expected != actual:
        yield f"{path}: {actual!r} instead of {expected!r}"
