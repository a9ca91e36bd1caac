"""What follows a signature: its callbacks and errbacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from river_compat.celery.canvas.lazy import as_list


class Linking:
    """The part of a signature that is about its options `link` and `link_error`."""

    options: Any

    def append_to_list_option(self, key: str, value: Any) -> Any:
        """Add a value to an option that is a list, unless it is in it; returns the value."""
        items = self._list_option(key)
        if value not in items:
            items.append(value)
        return value

    def extend_list_option(self, key: str, value: Any) -> None:
        """Add one value or several to an option that is a list."""
        self._list_option(key).extend(linked(value))

    def _list_option(self, key: str) -> list[Any]:
        held = self.options.get(key)
        if not isinstance(held, list):
            held = self.options[key] = linked(held)
        found: list[Any] = held
        return found

    def link(self, callback: Any) -> Any:
        """Run another task after this one succeeded, with its value in front; returns the other."""
        return self.append_to_list_option("link", callback)

    def link_error(self, errback: Any) -> Any:
        """Run another task after this one failed; returns the other."""
        return self.append_to_list_option("link_error", errback)

    def on_error(self, errback: Any) -> Any:
        """Do as `link_error`, and return this signature."""
        self.link_error(errback)
        return self


def linked(value: Any) -> list[Any]:
    """Return the signatures of a `link` or `link_error` option, which may hold one or many."""
    return [value] if isinstance(value, Mapping) else as_list(value)
