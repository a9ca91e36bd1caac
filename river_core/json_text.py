"""JSON objects handled as text, so that numbers and spelling stay exactly as they were written.

Metadata of other languages holds numbers that Python's floats would change; the unique key hashes
values as their producer wrote them.
"""

from __future__ import annotations

import json
import re

_SPACE = re.compile(r"[ \t\n\r]*")
_scan_value = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode


def top_level(text: str) -> dict[str, str]:
    """Return the top-level keys of a JSON object with the source text of their values, in order.

    Of a repeated key the first value counts. Raises ValueError for text that is no JSON object.
    """
    position = _skip_space(text, 0)
    if text[position : position + 1] != "{":
        raise ValueError("a JSON object was expected")
    position = _skip_space(text, position + 1)
    members: dict[str, str] = {}
    while text[position : position + 1] != "}":
        position = _member(text, position, members)
    if _skip_space(text, position + 1) != len(text):
        raise ValueError("there is text behind the JSON object")
    return members


def _member(text: str, position: int, members: dict[str, str]) -> int:
    if text[position : position + 1] != '"':
        raise ValueError(f"a key was expected at character {position}")
    key, position = _scan_value(text, position)
    position = _skip_space(text, position)
    if text[position : position + 1] != ":":
        raise ValueError(f"a colon was expected at character {position}")
    start = _skip_space(text, position + 1)
    _, end = _scan_value(text, start)
    members.setdefault(key, text[start:end])
    position = _skip_space(text, end)
    if text[position : position + 1] == ",":
        return _skip_space(text, position + 1)
    if text[position : position + 1] != "}":
        raise ValueError(f"a comma or brace was expected at character {position}")
    return position


def _skip_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def merge_objects(base: str, updates: str) -> str:
    """Merge two JSON objects shallowly as Postgres' `||` does; values keep their source text.

    Raises ValueError for text that is no JSON object.
    """
    merged = top_level(base) | top_level(updates)
    return "{" + ",".join(f"{json.dumps(key)}:{value}" for key, value in merged.items()) + "}"
