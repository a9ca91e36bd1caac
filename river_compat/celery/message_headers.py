"""The headers of a call, as the envelope keeps them: text, which a stranger may have written."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from river_compat.celery.exceptions import InvalidTaskError
from river_compat.codec import ACCEPT_JSON, JSON_TYPE, decode

_SHAPES: dict[str, tuple[Any, str]] = {
    "retries": (int, "a whole number"),
    "chord": (Mapping, "an object"),
    "headers": (Mapping, "an object"),
    "timelimit": ((list, tuple), "a list"),
    "callbacks": ((list, tuple), "a list"),
    "errbacks": ((list, tuple), "a list"),
    "expires": ((str, datetime), "a time"),
}
_SHAPED = tuple(f'"{name}"' for name in _SHAPES)


def is_shaped(text: str) -> bool:
    """Whether headers may hold one that `check_headers` looks at."""
    return any(name in text for name in _SHAPED)


def check_headers(headers: Mapping[str, Any]) -> None:
    """Raise InvalidTaskError, naming the header, where a stranger wrote something else than is read."""
    for name, (shape, text) in _SHAPES.items():
        value = headers.get(name)
        if value is not None and (not isinstance(value, shape) or isinstance(value, bool)):
            raise InvalidTaskError(f"the header {name} must be {text}, not {value!r}")
    for limit in headers.get("timelimit") or ():
        if limit is not None and not isinstance(limit, int | float):
            raise InvalidTaskError(f"the header timelimit must hold numbers of seconds, not {limit!r}")


def read_headers(text: str) -> dict[str, Any]:
    """Decode the envelope's headers; an empty dict for none."""
    headers = decode(text, JSON_TYPE, "utf-8", ACCEPT_JSON) if text else {}
    return headers if isinstance(headers, dict) else {}
