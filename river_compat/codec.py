"""Values to text and back, by kombu's serializers.

The text of a call and of a result is what kombu makes, so workers of the original library and ours can
share messages. Binary serializers are stored as base64.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import kombu.serialization
from kombu.exceptions import ContentDisallowed, DecodeError, EncodeError
from kombu.utils import json as kombu_json

from river_compat.compression import compress, content_type_of, decompress

JSON_TYPE = "application/json"
BINARY = "binary"
ACCEPT_JSON = frozenset({JSON_TYPE})
PLAIN_FLOATS_BELOW = 1e16

__all__ = [
    "ContentDisallowed",
    "DecodeError",
    "EncodeError",
    "Encoded",
    "accepted_types",
    "compressed",
    "decode",
    "encode",
    "survives_jsonb",
]

_serialization: Any = kombu.serialization
_dumps = json.JSONEncoder().encode
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Encoded:
    """A serialized value; `text` is base64 where `content_encoding` is binary, or where it is compressed.

    `compression` is the content type of kombu's method, empty for none.
    """

    content_type: str
    content_encoding: str
    text: str
    compression: str = ""


def accepted_types(names: Collection[str]) -> frozenset[str]:
    """Return content types for serializer names or content types, as `accept_content` takes both.

    Raises kombu's SerializerNotInstalled for a name that nobody registered.
    """
    types: set[str] = _serialization.prepare_accept_content(names)
    return frozenset(types)


def encode(value: Any, serializer: str) -> Encoded:
    """Serialize by a serializer that kombu knows by name.

    Raises kombu's EncodeError for a value that it cannot take, SerializerNotInstalled for its name.
    """
    if serializer == "json" and _is_kombus_json():
        try:
            text = _dumps(value)
        except (TypeError, ValueError, RecursionError):
            text = ""  # a type that kombu adds to JSON, or what kombu says no to in its own words
        if text and not _UNSTORABLE.search(text):
            return Encoded(JSON_TYPE, "utf-8", text)
    try:
        content_type, content_encoding, data = _serialization.dumps(value, serializer)
    except RecursionError as error:
        raise EncodeError("the value is nested too deeply or contains itself") from error
    if isinstance(data, str) and not _UNSTORABLE.search(data):
        return Encoded(content_type, content_encoding, data)
    if isinstance(data, str):
        raise EncodeError(f"serializer {serializer!r} left a NUL or a lone surrogate in its text")
    return Encoded(content_type, content_encoding, _text_of(data, content_encoding))


def encoder_of(serializer: str) -> Any:
    """Return what kombu has registered under a name: equal to before unless somebody has changed it."""
    return _serialization.registry._encoders.get(serializer)


def _is_kombus_json() -> bool:
    """Whether the serializer `json` is kombu's own.

    It differs from the standard encoder, at three times the price, by what it does with types that this
    one refuses.
    """
    encoder = encoder_of("json")
    return encoder is not None and encoder.encoder is kombu_json.dumps


def compressed(value: Encoded, method: str | None) -> Encoded:
    """Return a serialized value compressed by a method of kombu's; as it is for none.

    Raises UnknownCompressionError.
    """
    if not method:
        return value
    is_binary = value.content_encoding == BINARY
    data = _from_base64(value.text) if is_binary else value.text.encode(value.content_encoding)
    text = base64.b64encode(compress(data, method)).decode("ascii")
    return replace(value, text=text, compression=content_type_of(method))


def _text_of(data: bytes, content_encoding: str) -> str:
    if content_encoding == BINARY:
        return base64.b64encode(data).decode("ascii")
    return data.decode(content_encoding)


def decode(
    text: str, content_type: str, content_encoding: str, accept: Collection[str], compression: str = ""
) -> Any:
    """Read what `encode` made.

    Raises kombu's ContentDisallowed for a type outside `accept`, DecodeError for broken content.
    """
    data: str | bytes = text
    if compression:
        data = decompress(_from_base64(text), compression)
    elif content_type == JSON_TYPE and JSON_TYPE in accept and _is_plain_json(text):
        return _loads(text)
    elif content_encoding == BINARY:
        data = _from_base64(text)
    try:
        return _serialization.loads(data, content_type, content_encoding, accept=accept)
    except RecursionError as error:
        raise DecodeError("the content is nested too deeply") from error


def _is_plain_json(text: str) -> bool:
    """Whether the standard decoder must give what kombu's gives, at a third of the price.

    kombu's only difference is a hook for objects with the key `__type__`. No such key can be there
    when neither the key itself nor an escape that could spell it occurs in the text.
    """
    return (
        "__type__" not in text
        and "\\u00" not in text
        and _serialization.registry._decoders.get(JSON_TYPE) is kombu_json.loads
    )


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DecodeError(str(error)) from error


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise DecodeError(f"binary and compressed content must be stored as base64: {error}") from error


def survives_jsonb(value: Any) -> bool:
    """Whether a decoded JSON value comes back from a jsonb column as it went in.

    jsonb sorts keys, refuses NUL, lone surrogates, NaN and infinities, and writes floats from 1e16 on,
    and -0.0, in a way that Python reads as another value.
    """
    if value is None or value is True or value is False:
        return True
    if isinstance(value, str):
        return not _UNSTORABLE.search(value)
    if isinstance(value, int):
        return True
    if isinstance(value, float):
        return _float_survives(value)
    if isinstance(value, dict):
        return _sorted_as_jsonb(value) and all(survives_jsonb(item) for item in value.values())
    return all(survives_jsonb(item) for item in value)


def _float_survives(number: float) -> bool:
    return abs(number) < PLAIN_FLOATS_BELOW and not (number == 0 and math.copysign(1, number) < 0)


def _sorted_as_jsonb(value: dict[str, Any]) -> bool:
    if any(_UNSTORABLE.search(key) for key in value):
        return False
    keys = [key.encode() for key in value]
    return keys == sorted(keys, key=lambda key: (len(key), key))


def fit_for_jsonb(value: Any) -> bool:
    """Whether a jsonb column takes a decoded JSON value at all, even if it changes it."""
    if isinstance(value, str):
        return not _UNSTORABLE.search(value)
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(fit_for_jsonb(key) and fit_for_jsonb(item) for key, item in value.items())
    if isinstance(value, list):
        return all(fit_for_jsonb(item) for item in value)
    return True
