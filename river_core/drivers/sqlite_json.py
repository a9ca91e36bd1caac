"""SQLite's binary JSON (JSONB) in Python, for SQLite libraries older than 3.45 that lack it.

River keeps JSON on SQLite as JSONB blobs. `register` gives a connection the two SQL functions that
River's schema and statements call, `jsonb(text)` and `json(blob or text)`. What they write passes the
strict check of newer libraries (`json_valid(x, 8)`), and they read what those write. Unlike SQLite's
own, this `json` gives plain text: to nest it in json_object() and the like, write
json_extract(json(x), '$').

An element is a header and a payload. The low half of the first byte is the kind, the high half the
payload's size, or 12 to 15 when the size follows in 1, 2, 4 or 8 bytes (sqlite.org/jsonb.html).
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Mapping
from typing import NoReturn

from river_core.json_text import merge_objects

NATIVE_SINCE = (3, 45)  # the first SQLite library that has the functions itself

_NULL, _TRUE, _FALSE, _INT, _INT5, _FLOAT, _FLOAT5, _TEXT, _TEXTJ, _TEXT5, _TEXTRAW, _ARRAY, _OBJECT = range(
    13
)
MALFORMED_SHOWN = 100
"""How many characters the text has that stands for a malformed value."""

_ROOT = -1
_MALFORMED = "malformed JSON"  # SQLite's own words for it

_QUOTE = 0x22
_CLOSERS = {0x5D: _ARRAY, 0x7D: _OBJECT}
_OPENERS = b"[{"
_LITERALS = {b"null": b"\x00", b"true": b"\x01", b"false": b"\x02"}
_SMALL_HEADERS = tuple(tuple(bytes((size << 4 | kind,)) for size in range(12)) for kind in range(13))
_ENCODED = {"{}": b"\x0c", "[]": b"\x0b"}  # most metadata and tags
_DECODED = {blob: text for text, blob in _ENCODED.items()}

# In checked text these find every token (the first one without the separators) and nothing else.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]|[^\s,:\[\]{}"]+')
_SOLID = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[^\s"]+')

_INTEGER5 = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|([0-9]+))")
_FLOAT5_FORM = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eE][+-]?[0-9]+)?")
_TEXT5_SPECIAL = re.compile(r'\\(?:x([0-9a-fA-F]{2})|(\r\n|[\n\r\u2028\u2029])|(.))|["\x00-\x1f]')
_JSON_ESCAPES = frozenset('"\\/bfnrtu')


def register(connection: sqlite3.Connection, library: tuple[int, ...] = sqlite3.sqlite_version_info) -> None:
    """Give the connection `jsonb` and `json` where its library is too old to have them, and always our own.

    `river_json` reads a column as `json` does, but a malformed value becomes a JSON text that says so:
    `json` would fail the whole statement, and a stranger's broken row all its neighbours with it.
    `river_merge` merges two objects shallowly, as Postgres' `||` does, and keeps every digit.
    """
    connection.create_function("river_json", 1, _lenient_json, deterministic=True)
    connection.create_function("river_merge", 2, merge_objects, deterministic=True)
    if library < NATIVE_SINCE:
        connection.create_function("jsonb", 1, _jsonb, deterministic=True)
        connection.create_function("json", 1, _json, deterministic=True)


def _lenient_json(value: bytes | str | float | None) -> str | None:
    try:
        text = _json(value)
        if text is not None:
            _check(text)
    except (ValueError, RecursionError):
        return json.dumps(f"{_MALFORMED}: {value!r}"[:MALFORMED_SHOWN])
    return text


def encode(text: str) -> bytes:
    """Return JSON text as JSONB; numbers and escapes keep their spelling, as in SQLite.

    Raises ValueError for what is not strict JSON, which includes NaN, Infinity and JSON5.
    """
    if text in _ENCODED:
        return _ENCODED[text]
    _check(text)
    outer: list[list[bytes]] = []
    parts: list[bytes] = []
    for token in _TOKEN.findall(text.encode()):
        first = token[0]
        if first == _QUOTE:
            body = token[1:-1]
            parts.append(_header(_TEXTJ if b"\\" in body else _TEXT, len(body)) + body)
        elif first in _OPENERS:
            outer.append(parts)
            parts = []
        elif first in _CLOSERS:
            body = b"".join(parts)
            parts = outer.pop()
            parts.append(_header(_CLOSERS[first], len(body)) + body)
        else:
            parts.append(_LITERALS.get(token) or _encode_number(token))
    return parts[0]


def decode(blob: bytes) -> str:
    """Return JSONB as minified JSON text; JSON5 spellings become plain JSON.

    Raises ValueError unless the blob is exactly one element. The payloads of plain kinds are taken as
    they are: a blob that breaks their rules gives text that is not JSON.
    """
    if blob in _DECODED:
        return _DECODED[blob]
    outer: list[tuple[int, int, list[str]]] = []
    kind, position, end = _ROOT, 0, len(blob)
    items: list[str] = []
    while True:
        while position < end:
            inner, position, stop = _read_header(blob, position, end)
            if inner >= _ARRAY:
                outer.append((kind, end, items))
                kind, end, items = inner, stop, []
            else:
                items.append(_SCALARS[inner](blob[position:stop].decode()))
                position = stop
        if not outer:
            break
        text = _join(kind, items)
        kind, end, items = outer.pop()
        items.append(text)
    if len(items) != 1:
        raise ValueError(_MALFORMED)
    return items[0]


def minify(text: str) -> str:
    """Return JSON text without the white space between its tokens; raises ValueError as `encode` does."""
    _check(text)
    return "".join(_SOLID.findall(text))


def _jsonb(value: str | bytes | float | None) -> bytes | None:
    text = value if isinstance(value, str) else _json(value)
    return None if text is None else encode(text)


def _json(value: str | bytes | float | None) -> str | None:
    if isinstance(value, bytes):
        # A blob may hold text. Its first byte then looks like an array of five or seven bytes, which no
        # JSON text is, so trying text first cannot mistake one for the other.
        return _json_in_blob(value) if value[:1] in (b"[", b"{") else decode(value)
    if value is None:
        return None
    return minify(value if isinstance(value, str) else repr(value))


def _json_in_blob(blob: bytes) -> str:
    try:
        return minify(blob.decode())
    except ValueError:
        return decode(blob)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{_MALFORMED}: {constant}")


# Numbers are not built, so their size does not matter; `len` is the cheapest call that takes a text.
_CHECKER = json.JSONDecoder(parse_int=len, parse_float=len, parse_constant=_refuse)


def _check(text: str) -> None:
    try:
        _CHECKER.decode(text)
    except RecursionError as error:
        raise ValueError(f"{_MALFORMED}: nested too deeply") from error


def _header(kind: int, size: int) -> bytes:
    if size < 12:
        return _SMALL_HEADERS[kind][size]
    if size < 1 << 8:
        return bytes((0xC0 | kind, size))
    if size < 1 << 16:
        return bytes((0xD0 | kind, size >> 8, size & 0xFF))
    return bytes((0xE0 | kind,)) + size.to_bytes(4, "big")


def _read_header(blob: bytes, position: int, end: int) -> tuple[int, int, int]:
    """Return the kind, where the payload starts and where it stops."""
    first = blob[position]
    kind, size = first & 0x0F, first >> 4
    position += 1
    if size > 11:
        width = 1 << (size - 12)
        size = int.from_bytes(blob[position : position + width], "big")
        position += width
    if kind > _OBJECT or position + size > end:
        raise ValueError(_MALFORMED)
    return kind, position, position + size


def _encode_number(token: bytes) -> bytes:
    kind = _INT if token.lstrip(b"-").isdigit() else _FLOAT
    return _header(kind, len(token)) + token


def _join(kind: int, items: list[str]) -> str:
    if kind == _ARRAY:
        return f"[{','.join(items)}]"
    if len(items) % 2:
        raise ValueError(_MALFORMED)
    return "{" + ",".join(map(":".join, zip(items[::2], items[1::2], strict=True))) + "}"


def _quoted(payload: str) -> str:
    return f'"{payload}"'


def _raw_text(payload: str) -> str:
    return json.dumps(payload, ensure_ascii=False)


def _integer5(payload: str) -> str:
    if not (match := _INTEGER5.fullmatch(payload)):
        raise ValueError(_MALFORMED)
    sign, hexadecimal, decimal = match.groups()
    return ("-" if sign == "-" else "") + (str(int(hexadecimal, 16)) if hexadecimal else decimal)


def _float5(payload: str) -> str:
    match = _FLOAT5_FORM.fullmatch(payload)
    if not match or not (match[2] or match[3]):
        raise ValueError(_MALFORMED)
    sign, whole, fraction, exponent = match.groups(default="")
    point = f".{fraction or '0'}" if "." in payload else ""
    return f"{'-' if sign == '-' else ''}{whole or '0'}{point}{exponent}"


def _text5(payload: str) -> str:
    return f'"{_TEXT5_SPECIAL.sub(_plain_escape, payload)}"'


def _plain_escape(match: re.Match[str]) -> str:
    """Turn one JSON5 escape, or one character that JSON has to escape, into what JSON allows."""
    code, line_break, letter = match.groups()
    if code:
        return f"\\u00{code}"
    if line_break:
        return ""
    if letter is None:
        return json.dumps(match[0])[1:-1]
    if letter in _JSON_ESCAPES:
        return match[0]
    return {"0": "\\u0000", "v": "\\u000b"}.get(letter, letter)


_SCALARS: Mapping[int, Callable[[str], str]] = {
    _NULL: lambda _: "null",
    _TRUE: lambda _: "true",
    _FALSE: lambda _: "false",
    _INT: str,
    _INT5: _integer5,
    _FLOAT: str,
    _FLOAT5: _float5,
    _TEXT: _quoted,
    _TEXTJ: _quoted,
    _TEXT5: _text5,
    _TEXTRAW: _raw_text,
}
