"""Stamps: headers that a visitor, or a call of `stamp()`, puts on every signature of a workflow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

NAMES = "stamped_headers"
"""The option that lists which other options are stamps."""

_SINGLE = (int, float, str)


class StampingVisitor(ABC):
    """Says which stamps each signature gets. Every method returns a dict of them, or nothing."""

    @abstractmethod
    def on_signature(self, sig: Any, **headers: Any) -> dict[str, Any]:
        """Return the stamps of a task."""

    def on_group_start(self, group: Any, **headers: Any) -> dict[str, Any]:
        """Return the stamps of all tasks of a group."""
        return {}

    def on_group_end(self, group: Any, **headers: Any) -> None:  # noqa: B027 - need not be overridden
        """Called when a group is stamped."""

    def on_chain_start(self, chain: Any, **headers: Any) -> dict[str, Any]:
        """Return the stamps of all tasks of a chain."""
        return {}

    def on_chain_end(self, chain: Any, **headers: Any) -> None:  # noqa: B027 - need not be overridden
        """Called when a chain is stamped."""

    def on_chord_header_start(self, sig: Any, **header: Any) -> dict[str, Any]:
        """Return the stamps of all tasks of a chord's header, by default those of a group."""
        sig.tasks = sig.header_as_group()
        return self.on_group_start(sig.tasks, **header)

    def on_chord_header_end(self, sig: Any, **header: Any) -> None:
        """Called when a chord's header is stamped."""
        self.on_group_end(sig.tasks, **header)

    def on_chord_body(self, sig: Any, **header: Any) -> dict[str, Any]:
        """Return the stamps of a chord's body."""
        return {}

    def on_callback(self, callback: Any, **header: Any) -> dict[str, Any]:
        """Return the stamps of a task that runs after success."""
        return {}

    def on_errback(self, errback: Any, **header: Any) -> dict[str, Any]:
        """Return the stamps of a task that runs after a failure."""
        return {}


def gather(
    given: Mapping[str, Any], visited: Mapping[str, Any] | None, own: Mapping[str, Any] | None, append: bool
) -> dict[str, Any]:
    """Return stamps put together: given by the caller, by the visitor, and those the signature has.

    What comes first stays, or with `append` all values become a list. `own` are a signature's options.
    """
    stamps = {**given}
    stamps.setdefault(NAMES, list(given))
    if visited is not None:
        more = {**visited}
        more.setdefault(NAMES, list(visited))
        merge_into(stamps, more, append)
        stamps[NAMES] = list(set(stamps[NAMES]))
    if own is not None:
        names = {*stamps[NAMES], *(own.get(NAMES) or ())}
        stamps[NAMES] = list(names)
        merge_into(stamps, {name: value for name, value in own.items() if name in names}, append)
        stamps[NAMES] = list(set(stamps[NAMES]))
    return stamps


def merge_into(target: dict[str, Any], more: Mapping[str, Any], append: bool = True) -> None:
    """Put `more` into `target`: mappings are merged, lists joined.

    Where both have a plain value, it stays, or with `append` becomes a list of both.
    """
    for name, value in more.items():
        if name not in target:
            target[name] = value
        elif isinstance(target[name], dict):
            merge_into(target[name], value, append)
        else:
            target[name] = _joined(target[name], value, append)


def _joined(held: Any, value: Any, append: bool) -> Any:
    if append and isinstance(held, _SINGLE):
        held = [held]
    if isinstance(held, list) and isinstance(value, list):
        return [*held, *value]
    if not append:
        return held
    return [value] if held is None else [*held, value]
