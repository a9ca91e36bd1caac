"""The text of rows that differ by id, place and arguments alone.

One row is made the ordinary way and taken apart at what differs, the others are put together from the pieces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from json.encoder import encode_basestring
from typing import Any

from river_compat import envelope
from river_compat.celery.message import Message, body_of, call_of
from river_compat.shortened import short_repr
from river_core.encoding import sanitize_text

_ID, _BODY, _ARGS, _KWARGS = "\ue000id\ue000", "\ue000body\ue000", "\ue000args\ue000", "\ue000kwargs\ue000"
_INDEX = 918273645546372819
_ID_AT, _BODY_AT, _INDEX_AT, _ARGS_AT, _KWARGS_AT = range(1, 10, 2)


@dataclass(frozen=True, slots=True)
class RowText:
    """The text of one row, in `pieces`: every second one is a hole for what differs."""

    message: Message
    pieces: tuple[str, ...]
    shows_arguments: bool
    bare: list[str] = field(default_factory=list)
    """The body of a call without arguments, once there was one."""

    @classmethod
    def of(cls, message: Message) -> RowText:
        """Take the row of a call apart; raises as `message.row_of`."""
        shows_arguments = message.args_repr is None and message.kwargs_repr is None
        return cls(message, _pieces(message, shows_arguments), shows_arguments)

    def of_call(self, task_id: str, index: Any, args: Any, kwargs: Mapping[str, Any]) -> str:
        """Return the text of a call's row; raises kombu's EncodeError, or ValidationError for the id."""
        pieces = [*self.pieces]
        pieces[_ID_AT] = encode_basestring(envelope.storable("task id", task_id))
        if pieces[_INDEX_AT]:
            pieces[_INDEX_AT] = str(index)
        has_any = args or kwargs or type(args) is not tuple
        pieces[_BODY_AT] = self._body(args, kwargs) if has_any else self._bare_body()
        if self.shows_arguments:
            pieces[_ARGS_AT], pieces[_KWARGS_AT] = _shown(args), _shown(kwargs)
        return "".join(pieces)

    def _bare_body(self) -> str:
        if not self.bare:
            self.bare.append(self._body((), {}))
        return self.bare[0]

    def _body(self, args: Any, kwargs: Mapping[str, Any]) -> str:
        return encode_basestring(body_of(self.message, args, kwargs).text)


def _shown(value: Any) -> str:
    if not value and type(value) in (tuple, dict):
        return '"()"' if type(value) is tuple else '"{}"'
    return encode_basestring(sanitize_text(short_repr(value)[: envelope.REPR_CHARACTERS]))


def _pieces(message: Message, shows_arguments: bool) -> tuple[str, ...]:
    """Write a row with marks for what differs, and cut its text there."""
    has_index = message.headers.get("group_index") is not None
    headers = {**message.headers, "group_index": _INDEX} if has_index else message.headers
    marked = replace(message, task_id=_ID, headers=headers)
    if shows_arguments:
        marked = replace(marked, args_repr=_ARGS, kwargs_repr=_KWARGS)
    text = envelope.encode(replace(call_of(marked), body=_BODY))
    marks = (_quoted(_ID), _quoted(_BODY), str(_INDEX), _quoted(_ARGS), _quoted(_KWARGS))
    pieces: list[str] = []
    for mark in marks:
        before, found, after = text.partition(mark)
        pieces += [before, mark] if found else ["", ""]
        text = after if found else text
    return (*pieces, text)


def _quoted(mark: str) -> str:
    return f'"{mark}"'
