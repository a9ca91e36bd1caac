"""A `repr` of bounded length and depth (`celery.utils.saferepr`).

It never raises, and closes every bracket it has opened even where it stops in the middle. Unlike
`shortened.short_repr` it keeps Celery's form: a text is cut inside its quotes, and what is left out
after the limit is shown once, as `, ...`.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Any

from river_compat.celery.refused_names import refusing
from river_compat.celery.utils.text import truncate

__all__ = ["saferepr"]

OMITTED = ", ..."
_PLAIN_REPRS: dict[Any, type[Any]] = {kind.__repr__: kind for kind in (dict, list, tuple, set, frozenset)}


def saferepr(o: Any, maxlen: int | None = None, maxlevels: int = 3, seen: set[int] | None = None) -> str:
    """Return what a value looks like, in about `maxlen` characters and `maxlevels` nested containers."""
    writer = _Writer(maxlen, maxlevels, seen)
    writer.write(o, 0)
    return "".join(writer.parts)


class _Writer:
    """Collects parts until the room is used up; from then on only closing brackets."""

    def __init__(self, room: int | None, maxlevels: int, seen: set[int] | None) -> None:
        self.parts: list[str] = []
        self.room = room
        self.maxlevels = maxlevels
        self.seen = set() if seen is None else seen
        self.full = False

    def take(self) -> bool:
        """Whether there is room for one more part; says once that something is left out."""
        if not self.full and self.room is not None and self.room <= 0:
            self.full = True
            self.parts.append(OMITTED)
        return not self.full

    def put(self, text: str) -> None:
        self.parts.append(text)
        if self.room is not None:
            self.room -= len(text)

    def put_if_room(self, text: str) -> None:
        if self.take():
            self.put(text)

    def write(self, value: Any, level: int) -> None:
        if not self.take():
            return
        kind = _PLAIN_REPRS.get(type(value).__repr__)
        if kind is not None and value is not None:
            self._container(value, kind, level)
        elif isinstance(value, str):
            self.put(repr(self._cut(value)))
        elif isinstance(value, bytes):
            self.put(self._bytes(value))
        else:
            self.put(self._cut(_own_repr(value)))

    def _cut(self, text: str) -> str:
        return text if self.room is None else truncate(text, self.room)

    def _bytes(self, value: bytes) -> str:
        shown = value if self.room is None else value[: self.room]
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            text = decoder.decode(shown, final=len(shown) == len(value))
        except UnicodeDecodeError:
            text = shown.hex()
        return "b" + repr(text + "..." if len(shown) < len(value) else text)

    def _container(self, value: Any, kind: type[Any], level: int) -> None:
        if id(value) in self.seen:
            self.put(f"<Recursion on {type(value).__name__} with id={id(value)}>")
            return
        opening, closing = _brackets(value, kind)
        if level >= self.maxlevels and value:
            self.put(f"{opening}...{closing}")
            return
        self.seen.add(id(value))
        self.put(opening)
        self._items(value, kind, level + 1)
        self.put(closing)
        self.seen.discard(id(value))

    def _items(self, value: Any, kind: type[Any], level: int) -> None:
        for position, item in enumerate(value):
            if position:
                self.put_if_room(", ")
            self.write(item, level)
            if kind is dict:
                self.put_if_room(": ")
                self.write(value[item], level)
            if self.full:
                return


def _brackets(value: Any, kind: type[Any]) -> tuple[str, str]:
    if kind is dict:
        return "{", "}"
    if kind is list:
        return "[", "]"
    if kind is tuple:
        return "(", ",)" if len(value) == 1 else ")"
    if type(value) is set and value:
        return "{", "}"
    name = type(value).__name__
    return (f"{name}({{", "})") if value else (f"{name}(", ")")


def _own_repr(value: Any) -> str:
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001 - a broken __repr__ must not hide what holds the value
        return f"<Unrepresentable {type(value).__name__!r}: {type(error).__name__}>"


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
