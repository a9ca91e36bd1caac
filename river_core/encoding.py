"""JSON text exactly as Go's encoder writes it, and text that Postgres accepts.

The unique key is a hash over encoded arguments, so every client must spell a value alike. Stored
times, errors and metadata go through here as well.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from river_core.errors import ValidationError

_GO_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_NEEDS_GO_ESCAPE = re.compile("[<>&\u2028\u2029]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class JsonText:
    """A value that is JSON text already, so that its spelling and its numbers stay as they are."""

    text: str


def sanitize_text(text: str) -> str:
    """Replace NUL and lone surrogates, which Postgres refuses, by U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def encode_json(value: Any) -> str:
    """Return `value` as compact JSON, spelled as Go's encoder spells it.

    Raises ValidationError for NaN, infinities, keys that are no text and types that JSON does not have.
    """
    parts: list[str] = []
    try:
        _write(value, parts.append)
    except RecursionError as error:
        raise ValidationError(
            "a value is nested too deeply, or contains itself, to be written as JSON"
        ) from error
    return "".join(parts)


def _write(value: Any, put: Callable[[str], None]) -> None:
    if isinstance(value, str):
        put(_encode_text(value))
    elif value is None or isinstance(value, bool):
        put({None: "null", True: "true", False: "false"}[value])
    elif isinstance(value, int):
        put(int.__repr__(value))
    elif isinstance(value, float):
        put(encode_float(value))
    elif isinstance(value, JsonText):
        put(value.text)
    elif isinstance(value, Mapping):
        _write_object(value, put)
    elif isinstance(value, list | tuple):
        _write_array(value, put)
    else:
        raise ValidationError(f"{value!r} of type {type(value).__name__} cannot be written as JSON")


def _write_object(value: Mapping[Any, Any], put: Callable[[str], None]) -> None:
    put("{")
    separator = ""
    for key, item in value.items():
        if not isinstance(key, str):
            raise ValidationError(f"the key {key!r} of a JSON object must be text, not {type(key).__name__}")
        put(f"{separator}{_encode_text(key)}:")
        _write(item, put)
        separator = ","
    put("}")


def _write_array(value: list[Any] | tuple[Any, ...], put: Callable[[str], None]) -> None:
    put("[")
    for position, item in enumerate(value):
        if position:
            put(",")
        _write(item, put)
    put("]")


def _encode_text(text: str) -> str:
    text = _SURROGATE.sub("\ufffd", text)
    encoded = json.dumps(text, ensure_ascii=False)
    return _NEEDS_GO_ESCAPE.sub(lambda match: _GO_ESCAPES[match.group()], encoded)


def encode_float(number: float) -> str:
    """Return a float as Go's encoder writes it: shortest digits, plain from 1e-6 to below 1e21."""
    if not math.isfinite(number):
        raise ValidationError(f"{number!r} cannot be written as JSON; send it as text or null")
    digits, exponent = _shortest(number)
    sign = "-" if math.copysign(1.0, number) < 0 else ""
    if digits == "0":
        return f"{sign}0"
    if 1e-6 <= abs(number) < 1e21:
        return sign + _plain(digits, exponent)
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{sign}{mantissa}e{exponent:+d}"


def _shortest(number: float) -> tuple[str, int]:
    """Return the shortest round-trip digits and the exponent of the first one."""
    mantissa, _, exponent = f"{abs(number)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(digits)
    return digits.rstrip("0") or "0", len(whole) - 1 - leading + int(exponent or 0)


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    padded = digits.ljust(exponent + 1, "0")
    whole, fraction = padded[: exponent + 1], padded[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole
