"""Serialized calls and results: kombu's bytes, our storage."""

from __future__ import annotations

import json
import math
import uuid
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kombu import serialization

from river_compat import codec
from river_compat.results import OUTPUT, RESULT, result_metadata, result_value, value_of_text, value_text

JSON_TEXT = st.text(st.characters(), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | JSON_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(JSON_TEXT, inner, max_size=4),
    max_leaves=12,
)
MARKED = st.sampled_from(["__type__", "\\u005f_type__", "__value__", "decimal", "1.5", "bytes"])


def same(left: Any, right: Any) -> bool:
    """Equal values, types and key order; NaN equals NaN, 0.0 does not equal -0.0."""
    return repr(left) == repr(right)


@given(JSON)
def test_the_fast_decoder_gives_what_kombu_gives(value: Any) -> None:
    """For any JSON value."""
    encoded = codec.encode(value, "json")
    decoded = codec.decode(encoded.text, encoded.content_type, encoded.content_encoding, codec.ACCEPT_JSON)
    expected = serialization.loads(
        encoded.text, encoded.content_type, encoded.content_encoding, accept=codec.ACCEPT_JSON
    )
    assert same(decoded, expected)


@given(st.dictionaries(MARKED, MARKED, min_size=1, max_size=3))
def test_the_fast_decoder_sees_every_spelling_of_a_marker(value: dict[str, str]) -> None:
    """Another writer may spell `__type__` with escapes; then kombu's hook must still run."""
    text = json.dumps(value).replace("\\\\", "\\")
    results = []
    for decode in (
        lambda: codec.decode(text, codec.JSON_TYPE, "utf-8", codec.ACCEPT_JSON),
        lambda: serialization.loads(text, codec.JSON_TYPE, "utf-8", accept=codec.ACCEPT_JSON),
    ):
        try:
            results.append(repr(decode()))
        except codec.DecodeError as error:
            results.append(type(error).__name__)
    assert results[0] == results[1]


@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
        Decimal("1.10"),
        uuid.UUID(int=7),
        b"\xff\x00",
        b"text",
        {"a": [Decimal(1), None]},
    ],
)
def test_kombus_own_types_survive(value: Any) -> None:
    """Dates, decimals, uuids and bytes travel in kombu's markers."""
    encoded = codec.encode([value], "json")
    assert codec.decode(encoded.text, encoded.content_type, "utf-8", codec.ACCEPT_JSON) == [value]


def test_binary_serializers_are_stored_as_base64() -> None:
    """A pickle is text in the row and comes back when it is accepted."""
    encoded = codec.encode({1: {2}}, "pickle")
    assert encoded.text.isascii()
    types = codec.accepted_types(["pickle"])
    assert codec.decode(encoded.text, encoded.content_type, encoded.content_encoding, types) == {1: {2}}


def test_content_that_is_not_accepted_is_refused() -> None:
    """By kombu's own error."""
    encoded = codec.encode(1, "pickle")
    with pytest.raises(codec.ContentDisallowed):
        codec.decode(encoded.text, encoded.content_type, encoded.content_encoding, codec.ACCEPT_JSON)


@pytest.mark.parametrize("text", ["{", "", "[1"])
def test_broken_json_is_a_decode_error(text: str) -> None:
    """An empty text is no JSON either: nothing that we write is empty."""
    with pytest.raises(codec.DecodeError):
        codec.decode(text, codec.JSON_TYPE, "utf-8", codec.ACCEPT_JSON)


def test_broken_base64_is_a_decode_error() -> None:
    """As any other broken content."""
    with pytest.raises(codec.DecodeError, match="base64"):
        codec.decode("###", "application/x-python-serialize", "binary", codec.accepted_types(["pickle"]))


def test_what_cannot_be_serialized_is_an_encode_error() -> None:
    """Sets, objects, and values that contain themselves."""
    loop: list[Any] = []
    loop.append(loop)
    for value in (object(), {1, 2}, loop):
        with pytest.raises(codec.EncodeError):
            codec.encode(value, "json")


def jsonb(value: Any) -> Any:
    """What a jsonb column makes of a value: keys sorted by length, exponents and -0.0 written out."""
    if isinstance(value, float):
        return int(value) if "e+" in repr(value) else value + 0.0
    if isinstance(value, dict):
        return {
            key: jsonb(value[key]) for key in sorted(value, key=lambda key: (len(key.encode()), key.encode()))
        }
    return [jsonb(item) for item in value] if isinstance(value, list) else value


@given(JSON)
def test_a_result_comes_back_exactly(value: Any) -> None:
    """From metadata that went through jsonb, with type, sign and key order."""
    stored = result_metadata(value, "json")
    text = json.dumps(stored, allow_nan=False)
    assert "\\u0000" not in text.replace("\\\\u0000", "")
    read = {name: jsonb(part) if name == OUTPUT else part for name, part in json.loads(text).items()}
    assert same(result_value(read), json.loads(json.dumps(value)))


def test_a_result_that_jsonb_keeps_is_stored_once() -> None:
    """Not twice: every key is indexed."""
    assert result_metadata({"a": 1, "bb": [1.5, "x"]}, "json") == {OUTPUT: {"a": 1, "bb": [1.5, "x"]}}
    assert result_metadata(None, "json") == {}


def test_a_result_that_jsonb_changes_is_kept_as_text_too() -> None:
    """`output` is for people and other languages, the text is exact."""
    stored = result_metadata({"z": 1, "a": 2}, "json")
    assert stored == {OUTPUT: {"z": 1, "a": 2}, RESULT: '{"z": 1, "a": 2}'}


@pytest.mark.parametrize("value", [math.nan, math.inf, "a\x00b", {"\x00": 1}, "\ud800"])
def test_a_result_that_jsonb_refuses_is_text_alone(value: Any) -> None:
    """It must not take a whole batch of outcomes down."""
    assert list(result_metadata(value, "json")) == [RESULT]


def test_a_deeply_nested_result_is_text_alone() -> None:
    """What the serializer takes is never refused afterwards."""
    value: Any = 1
    for _ in range(450):
        value = [value]
    assert result_value(result_metadata(value, "json")) == value


def test_a_pickled_result_needs_to_be_accepted() -> None:
    """A reader that takes JSON alone refuses it."""
    stored = result_metadata({1, 2}, "pickle")
    assert result_value(stored, codec.accepted_types(["pickle"])) == {1, 2}
    with pytest.raises(codec.ContentDisallowed):
        result_value(stored)


@pytest.mark.parametrize("method", ["gzip", "bzip2", "lzma", "application/x-gzip"])
@pytest.mark.parametrize("serializer", ["json", "msgpack"])
def test_compressed_values_come_back(serializer: str, method: str) -> None:
    """By kombu's methods, of text and of bytes."""
    value = {"x": "same " * 1000, "y": [1.5, None]}
    packed = codec.compressed(codec.encode(value, serializer), method)
    accept = {packed.content_type}
    assert len(packed.text) < 500
    read = codec.decode(packed.text, packed.content_type, packed.content_encoding, accept, packed.compression)
    assert read == value
    with pytest.raises(codec.ContentDisallowed):
        codec.decode(packed.text, packed.content_type, packed.content_encoding, {"x/y"}, packed.compression)


@pytest.mark.parametrize(
    ("text", "method", "reason"),
    [
        ("!", "application/x-gzip", "base64"),
        ("AAAA", "application/x-gzip", "no application/x-gzip"),
        ("AAAA", "application/x-nothing", "install its package"),
    ],
)
def test_what_cannot_be_decompressed_is_a_decode_error(text: str, method: str, reason: str) -> None:
    """A row of another writer fails alone, and says why."""
    with pytest.raises(codec.DecodeError, match=reason):
        codec.decode(text, codec.JSON_TYPE, "utf-8", codec.ACCEPT_JSON, method)


def test_an_unknown_method_is_an_encode_error_that_names_the_known_ones() -> None:
    """It is a KeyError, too, as in Celery."""
    with pytest.raises(codec.EncodeError, match=r"'zip'; kombu knows .*gzip") as caught:
        codec.compressed(codec.encode(1, "json"), "zip")
    assert isinstance(caught.value, KeyError)


@pytest.mark.parametrize("serializer", ["json", "msgpack"])
def test_results_are_compressed_where_that_makes_them_shorter(serializer: str) -> None:
    """Row 7.23. What is short stays readable for people and other languages."""
    long, short = "same " * 1000, ["x"]
    stored = result_metadata(long, serializer, "gzip")
    accept = codec.accepted_types([serializer])
    assert list(stored) == [RESULT]
    assert len(stored[RESULT]) < 200
    assert result_value(stored, accept) == long
    assert value_of_text(value_text(long, serializer, "bzip2"), accept) == long
    assert result_metadata(short, "json", "gzip") == {OUTPUT: short}
    assert result_metadata(7, "json", "gzip") == {OUTPUT: 7}
