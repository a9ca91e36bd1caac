"""What a value looks like to a person, in bounded space and time.

Used for `args_repr`, `kwargs_repr` and the results in log lines. A value of many megabytes costs no
more than the characters that are shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MAX_LEVELS = 6


def short_repr(value: Any, limit: int = 1024) -> str:
    """Return `repr(value)` cut to `limit` characters, ending in `...` where something is missing."""
    if not value and type(value) in _EMPTY:
        return _EMPTY[type(value)][:limit]
    writer = _Writer(limit)
    writer.write(value, 0)
    text = "".join(writer.parts)
    return text if len(text) <= limit else text[: max(limit - 3, 0)] + "..."


class _Writer:
    """Writes parts until the room is used up."""

    __slots__ = ("parts", "room")

    def __init__(self, room: int) -> None:
        self.parts: list[str] = []
        self.room = room + 1

    def put(self, text: str) -> None:
        self.parts.append(text)
        self.room -= len(text)

    def write(self, value: Any, level: int) -> None:
        kind = type(value)
        if kind is str or kind is bytes:
            self.put(repr(value[: max(self.room, 0)]))
        elif kind in _BRACKETS and level < MAX_LEVELS:
            self._sequence(value, level, *_BRACKETS[kind])
        elif kind is dict and level < MAX_LEVELS:
            self._mapping(value, level)
        elif kind in _BRACKETS or kind is dict:
            self.put("...")
        else:
            self.put(_own_repr(value))

    def _sequence(self, value: Any, level: int, opening: str, closing: str) -> None:
        self.put(opening)
        self._items(value, lambda item: self.write(item, level + 1))
        self.put(",)" if opening == "(" and len(value) == 1 else closing)

    def _mapping(self, value: dict[Any, Any], level: int) -> None:
        def pair(item: tuple[Any, Any]) -> None:
            self.write(item[0], level + 1)
            self.put(": ")
            self.write(item[1], level + 1)

        self.put("{")
        self._items(value.items(), pair)
        self.put("}")

    def _items(self, items: Any, write: Callable[[Any], None]) -> None:
        for position, item in enumerate(items):
            if self.room <= 0:
                return
            if position:
                self.put(", ")
            write(item)


_EMPTY: dict[type[Any], str] = {tuple: "()", list: "[]", dict: "{}"}
_BRACKETS: dict[type[Any], tuple[str, str]] = {list: ("[", "]"), tuple: ("(", ")")}


def _own_repr(value: Any) -> str:
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001 - a broken __repr__ must not hide the value's task
        return f"<{type(value).__name__} without a repr: {type(error).__name__}>"
