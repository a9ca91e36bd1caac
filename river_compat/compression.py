"""Compression of serialized values by kombu's methods: `gzip`, `bzip2`, `lzma`, and what is registered.

The names are kombu's (`kombu.compression.register`), so that workers of the original library and ours
understand each other's.
"""

from __future__ import annotations

from typing import Any

import kombu.compression
from kombu.exceptions import DecodeError, EncodeError

_kombu: Any = kombu.compression


class UnknownCompressionError(EncodeError, KeyError):
    """No method of compression has this name. It is a KeyError, as in Celery."""

    __str__ = Exception.__str__


def content_type_of(method: str) -> str:
    """Return the content type of a method, such as `application/x-gzip` for `gzip`.

    Raises UnknownCompressionError.
    """
    try:
        found: str = _kombu.get_encoder(method)[1]
    except KeyError:
        known = ", ".join(sorted([*_kombu._aliases, *_kombu.encoders()]))
        raise UnknownCompressionError(f"no compression is named {method!r}; kombu knows {known}") from None
    return found


def compress(data: bytes, method: str) -> bytes:
    """Return the data compressed; raises UnknownCompressionError."""
    compressed: bytes = _kombu.compress(data, content_type_of(method))[0]
    return compressed


def decompress(data: bytes, method: str) -> bytes:
    """Return what `compress` was given; raises kombu's DecodeError for broken data and unknown methods."""
    try:
        decoder = _kombu.get_decoder(method)
    except KeyError:
        text = f"the content is compressed by {method!r}, which kombu does not know here; install its package"
        raise DecodeError(text) from None
    try:
        plain: bytes = decoder(data)
    except Exception as error:
        raise DecodeError(f"the content is no {method}: {error}") from error
    return plain
