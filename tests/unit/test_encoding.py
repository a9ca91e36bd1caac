"""JSON as Go's encoder writes it: the unique key is a hash over these characters."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from river_core.encoding import encode_float, encode_json, sanitize_text
from river_core.errors import ValidationError

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(-1e15, 1e15)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-7, "-7"),
        (10**30, "1" + "0" * 30),
        ("", '""'),
        ("é€😀", '"é€😀"'),
        ("<a>&b", '"\\u003ca\\u003e\\u0026b"'),
        ("\u2028\u2029", '"\\u2028\\u2029"'),
        ("\b\f\n\r\t", '"\\b\\f\\n\\r\\t"'),
        ("\x00\x1f", '"\\u0000\\u001f"'),
        ("\x7f", '"\x7f"'),
        ('"\\/', '"\\"\\\\/"'),
        ("half \ud800", '"half \ufffd"'),
        ([], "[]"),
        ((1, [2, {}]), "[1,[2,{}]]"),
        ({}, "{}"),
        ({"b": 1, "a": {"<": None}}, '{"b":1,"a":{"\\u003c":null}}'),
    ],
)
def test_values_are_spelled_as_go_spells_them(value: Any, expected: str) -> None:
    """Checklist 37. Compact, keys in their order, the characters that HTML minds escaped."""
    assert encode_json(value) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (-1.5, "-1.5"),
        (0.1, "0.1"),
        (100.0, "100"),
        (123456789.125, "123456789.125"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e21, "1.5e+21"),
        (1e22, "1e+22"),
        (1e-6, "0.000001"),
        (1.5e-6, "0.0000015"),
        (1e-7, "1e-7"),
        (9.99e-7, "9.99e-7"),
        (-1e-7, "-1e-7"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (2**53 + 0.0, "9007199254740992"),
    ],
)
def test_floats_have_the_shortest_digits(number: float, expected: str) -> None:
    """Checklist 37. Plain from 1e-6 to below 1e21, with an exponent beyond."""
    assert encode_float(number) == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_reads_back_as_itself(number: float) -> None:
    """Whatever form was chosen."""
    read = float(encode_float(number))
    assert read == number
    assert math.copysign(1, read) == math.copysign(1, number)


@given(JSON_VALUES)
def test_what_is_written_reads_back_as_the_same_value(value: Any) -> None:
    """Any JSON value, by Python's own reader, which takes whole floats beyond 2^53 for exact integers."""
    assert json.loads(encode_json(value)) == value


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, {1: 2}, object(), b"a", {"a": {1, 2}}])
def test_what_json_lacks_is_refused(value: Any) -> None:
    """Nothing is changed silently."""
    with pytest.raises(ValidationError):
        encode_json(value)


def test_a_value_that_contains_itself_is_refused() -> None:
    """Instead of a RecursionError."""
    value: list[Any] = []
    value.append(value)
    with pytest.raises(ValidationError, match="contains itself"):
        encode_json(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("plain é", "plain é"), ("a\x00b", "a\ufffdb"), ("\ud83d!\udc00", "\ufffd!\ufffd"), ("😀", "😀")],
)
def test_text_is_made_storable(text: str, expected: str) -> None:
    """NUL and half pairs are replaced; everything else stays."""
    assert sanitize_text(text) == expected
