"""JSON objects as text keep every character of their values."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from river_core.json_text import merge_objects, top_level

KEYS = st.text(max_size=8)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=5)


def test_values_keep_their_spelling() -> None:
    """Digits, spacing and key order inside a value are not touched."""
    text = '{ "a" : 1e400, "b":[1,  2] ,"c":{"z":1.0,"a":12345678901234567890123} }'
    assert top_level(text) == {"a": "1e400", "b": "[1,  2]", "c": '{"z":1.0,"a":12345678901234567890123}'}


def test_the_first_of_two_equal_keys_counts() -> None:
    """As River reads a repeated key."""
    assert top_level('{"a":1,"a":2}') == {"a": "1"}


@pytest.mark.parametrize(
    "text", ["", "[]", "1", "{", '{"a"}', '{"a":1', '{"a":1}x', "{a:1}", '{"a":1 "b":2}']
)
def test_what_is_no_object_is_refused(text: str) -> None:
    """Broken text raises ValueError instead of losing members."""
    with pytest.raises(ValueError):  # noqa: PT011 - the position in the text varies
        top_level(text)


def test_merge_is_shallow_and_keeps_nulls() -> None:
    """As Postgres' `||`: nested objects are replaced, null is stored."""
    assert (
        merge_objects('{"a":{"b":1},"c":1e30}', '{"a":{"d":2},"e":null}') == '{"a":{"d":2},"c":1e30,"e":null}'
    )


@given(OBJECTS, OBJECTS)
def test_merge_equals_a_python_merge(base: dict[str, object], updates: dict[str, object]) -> None:
    """For any two objects the result is what a dict merge gives."""
    merged = merge_objects(json.dumps(base), json.dumps(updates, indent=2))
    assert json.loads(merged) == base | updates
