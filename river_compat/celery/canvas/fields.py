"""Attributes of a signature that are items of its dict."""

from __future__ import annotations

from typing import Any


class Item:
    """Reads and writes one item of a mapping, or of one in it: `options.task_id`."""

    def __init__(self, path: str, doc: str) -> None:
        """Take where the item is, and what it means."""
        *self._way, self._key = path.split(".")
        self.__doc__ = doc

    def _holder(self, mapping: Any) -> Any:
        for name in self._way:
            mapping = mapping[name]
        return mapping

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Return the item; None where there is none."""
        if instance is None:
            return self
        return self._holder(instance).get(self._key)

    def __set__(self, instance: Any, value: Any) -> None:
        """Set the item."""
        self._holder(instance)[self._key] = value
