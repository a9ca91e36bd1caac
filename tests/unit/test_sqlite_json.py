"""The JSONB codec: round trips, SQLite's format byte for byte, and a newer SQLite beside it.

The comparison needs a library of 3.45 or newer: that of the interpreter, or the one that apsw brings.
The latter runs in memory only, since two libraries must not open one file.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from river_core.drivers.sqlite_json import NATIVE_SINCE, decode, encode, minify, register

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=30,
)
SPELLINGS = st.fixed_dictionaries({"ensure_ascii": st.booleans(), "indent": st.sampled_from([None, 1])})
HARD = [
    "null",
    "-0",
    "1e400",
    "1E+22",
    "-0.0",
    "123456789012345678901234567890123456789",
    "9" * 5000,
    '""',
    r'"\ud800 \u0000 \/ \" \\ \b\f\n\r\t"',
    '"é\u2028\U0001f600\x7f"',
    '{"a":1,"a":2,"":{}}',
    '[[],{},[[[]]],"[{,:}]"]',
    '{"body":"' + "x" * 300 + '"}',
    json.dumps("y" * 70_000),
    json.dumps(["z" * size for size in (10, 11, 12, 254, 255, 256)]),
    "[" * 200 + "]" * 200,
]
MALFORMED = [
    "",
    " ",
    "nul",
    "[1,]",
    "{a:1}",
    "'a'",
    "NaN",
    "-Infinity",
    "[1 2]",
    '{"a"}',
    '"\t"',
    r'"\x41"',
    "01",
    ".5",
    "1.",
    "+1",
    "0x1f",
    "[] []",
    "\ufeff{}",
    "[" * 100_000,
]


@pytest.fixture
def old() -> Iterator[sqlite3.Connection]:
    """A connection with our functions, whatever its library could do itself."""
    with closing(sqlite3.connect(":memory:")) as connection:
        register(connection, library=(3, 40, 1))
        yield connection


@pytest.fixture(scope="module")
def native() -> Iterator[Callable[..., Any]]:
    """Call an SQL expression of a SQLite that has JSONB itself."""
    with closing(newer_sqlite()) as connection:
        yield lambda expression, *values: connection.execute(f"SELECT {expression}", values).fetchone()[0]


def newer_sqlite() -> Any:
    """Open a database in memory with a library that needs nothing registered."""
    if sqlite3.sqlite_version_info >= NATIVE_SINCE:
        return sqlite3.connect(":memory:")
    reason = "neither this Python's SQLite nor an installed apsw has JSONB of its own"
    return pytest.importorskip("apsw", reason=reason).Connection(":memory:")


@settings(deadline=None)
@given(VALUES, SPELLINGS)
def test_a_round_trip_keeps_every_spelling(value: Any, spelling: dict[str, Any]) -> None:
    """Encoding and decoding gives the text without its white space, and so the value."""
    text = json.dumps(value, **spelling)
    back = decode(encode(text))
    assert back == minify(text)
    assert json.loads(back) == value
    assert back == json.dumps(value, ensure_ascii=spelling["ensure_ascii"], separators=(",", ":"))


@settings(deadline=None)
@given(VALUES, SPELLINGS)
def test_the_bytes_are_those_of_sqlite(
    native: Callable[..., Any], value: Any, spelling: dict[str, Any]
) -> None:
    """A newer SQLite makes the same blob, finds ours strictly valid and reads the same text from it.

    Checklist 13.
    """
    text = json.dumps(value, **spelling)
    blob = encode(text)
    assert blob == native("jsonb(?)", text)
    assert native("json_valid(?, 8)", blob) == 1
    assert native("json(?)", blob) == decode(blob)


@pytest.mark.parametrize("text", HARD, ids=lambda text: text[:20])
def test_hard_texts(text: str) -> None:
    """Numbers of any size, escapes, repeated keys, deep nesting and every header size come back."""
    assert decode(encode(text)) == minify(text) == text.replace(", ", ",")


@pytest.mark.parametrize("text", HARD, ids=lambda text: text[:20])
def test_hard_texts_beside_sqlite(native: Callable[..., Any], text: str) -> None:
    """The same texts give SQLite's bytes."""
    assert encode(text) == native("jsonb(?)", text)
    assert native("json_valid(?, 8)", encode(text)) == 1


@pytest.mark.parametrize(
    ("text", "blob"),
    [
        ("{}", b"\x0c"),
        ("[]", b"\x0b"),
        ("null", b"\x00"),
        ("[true,false]", b"\x2b\x01\x02"),
        ("-12", b"\x33-12"),
        ("1.5", b"\x351.5"),
        ('"abc"', b"\x37abc"),
        (r'"a\n"', b"\x38a\\n"),
        ('{"a":[1]}', b"\x5c\x17a\x2b\x131"),
        ('"' + "a" * 12 + '"', b"\xc7\x0c" + b"a" * 12),
        ('"' + "a" * 256 + '"', b"\xd7\x01\x00" + b"a" * 256),
        ('"' + "a" * 65536 + '"', b"\xe7\x00\x01\x00\x00" + b"a" * 65536),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_the_format_byte_for_byte(text: str, blob: bytes) -> None:
    """Kinds and sizes are written as sqlite.org/jsonb.html says."""
    assert encode(text) == blob
    assert decode(blob) == text


@pytest.mark.parametrize(
    ("blob", "text"),
    [
        (b"\x54+0x1f", "31"),
        (b"\x440x1F", "31"),
        (b"\x54-0x1f", "-31"),
        (b"\x26.5", "0.5"),
        (b"\x265.", "5.0"),
        (b"\x46-.5e", None),
        (b"\x56+.5e3", "0.5e3"),
        (b"\x29\\'", '"\'"'),
        (b'\x19"', '"\\""'),
        (b"\x49\\x41", r'"\u0041"'),
        (b"\x29\\v", r'"\u000b"'),
        (b"\x29\\0", r'"\u0000"'),
        (b"\x29\\n", r'"\n"'),
        (b"\x49a\\\nb", '"ab"'),
        (b'\x3aa"\n', r'"a\"\n"'),
        (b"\xf7\x00\x00\x00\x00\x00\x00\x00\x01a", '"a"'),
    ],
    ids=repr,
)
def test_other_spellings_are_read_as_plain_json(blob: bytes, text: str | None) -> None:
    """JSON5 numbers and texts, raw text and long headers, which other writers may store."""
    if text is None:
        with pytest.raises(ValueError, match="malformed JSON"):
            decode(blob)
    else:
        assert decode(blob) == text
        json.loads(text)


@pytest.mark.parametrize(
    "text",
    ["0x1F", "-0xff", "+7", ".5", "5.", "+.5e3", "{a:'b'}", r"'\x41\v\0\'\"'", "'a\\\nb'", "'\"'", "[1,]"],
)
def test_what_sqlite_makes_of_json5_is_read(native: Callable[..., Any], text: str) -> None:
    """A blob that SQLite made of JSON5 means the same to us as to SQLite."""
    blob = native("jsonb(?)", text)
    assert json.loads(decode(blob)) == json.loads(native("json(?)", blob))


@pytest.mark.parametrize("text", MALFORMED, ids=lambda text: repr(text[:20]))
def test_malformed_text_is_refused(text: str) -> None:
    """Only strict JSON is stored, so that every client can read it."""
    for function in (encode, minify):
        with pytest.raises(ValueError, match=r".+"):
            function(text)


@pytest.mark.parametrize(
    "blob",
    [b"", b"\x37ab", b"\x0c\x0c", b"\x1c\x17", b"\x1c\x00", b"\x0d", b"\xd7\x01", b"\x3b\x37ab", b"\x17\xff"],
    ids=repr,
)
def test_malformed_blobs_are_refused(blob: bytes) -> None:
    """What is cut off, has something behind it, or lacks a value for a key is an error."""
    with pytest.raises(ValueError, match=r".+"):
        decode(blob)


def test_the_functions_in_sql(old: sqlite3.Connection) -> None:
    """`jsonb` takes text, `json` takes blob or text; NULL stays NULL; a default may call them."""
    old.execute("CREATE TABLE rows (id INTEGER, value BLOB NOT NULL DEFAULT (jsonb('{}')))")
    old.execute("INSERT INTO rows (id) VALUES (1)")
    old.execute("INSERT INTO rows VALUES (2, jsonb(?))", ('{"a": [1, "é"]}',))
    old.execute("INSERT INTO rows VALUES (3, ' [ 1 ] ')")
    assert old.execute("SELECT typeof(value), json(value) FROM rows ORDER BY id").fetchall() == [
        ("blob", "{}"),
        ("blob", '{"a":[1,"é"]}'),
        ("text", "[1]"),
    ]
    assert old.execute("SELECT jsonb(NULL), json(NULL), json(7), json(1.5), jsonb('7')").fetchone() == (
        None, None, "7", "1.5", b"\x137"
    )  # fmt: skip
    assert old.execute("SELECT json_extract(json(jsonb('{\"a\":5}')), '$.a')").fetchone() == (5,)


@pytest.mark.parametrize("text", ['{"a":12}', "[1, 2]", '{"a":1}', "[12345]"])
def test_text_in_a_blob_is_not_taken_for_an_array(old: sqlite3.Connection, text: str) -> None:
    """Some texts begin as an array of just their length would: they are read as the text they are."""
    row = old.execute("SELECT json(?), jsonb(?)", (text.encode(), text.encode())).fetchone()
    assert row == (minify(text), encode(text))


@pytest.mark.parametrize("text", ['["abcd"]', '["abcdef"]'])
def test_an_array_is_not_taken_for_text(old: sqlite3.Connection, text: str) -> None:
    """Arrays of five and seven bytes begin with the letters [ and {."""
    assert encode(text)[:1] in (b"[", b"{")
    assert old.execute("SELECT json(?)", (encode(text),)).fetchone() == (text,)


def test_malformed_json_is_an_error_in_sql(old: sqlite3.Connection) -> None:
    """As with SQLite's own functions, the statement fails."""
    for expression in ("jsonb('{')", "json('{')", "json(x'37')"):
        with pytest.raises(sqlite3.OperationalError):
            old.execute("SELECT " + expression)


def test_a_library_that_has_the_functions_keeps_its_own() -> None:
    """From 3.45 on nothing is registered."""
    with closing(sqlite3.connect(":memory:")) as connection:
        register(connection, library=NATIVE_SINCE)
        if sqlite3.sqlite_version_info < NATIVE_SINCE:
            with pytest.raises(sqlite3.OperationalError, match="no such function: jsonb"):
                connection.execute("SELECT jsonb('{}')")
        else:
            assert connection.execute("SELECT jsonb('{}')").fetchone() == (b"\x0c",)
