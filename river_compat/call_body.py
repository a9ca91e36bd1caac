"""The body of a call: its arguments, and what travels with them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from river_compat import codec
from river_compat.envelope import TaskCall

EMPTY = "[[],{},null]"


def read_body(call: TaskCall, accept: Collection[str]) -> Any:
    """Return what was serialized: `[args, kwargs, embed]` where the call was made by an adapter.

    Raises kombu's ContentDisallowed for a type outside `accept`, DecodeError for broken content.
    """
    return codec.decode(
        call.body or EMPTY, call.content_type, call.content_encoding, accept, call.compression
    )
