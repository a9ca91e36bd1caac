"""Signatures as plain dicts and lists, as they are stored with the task that they follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from river_compat.celery.canvas.options import OF_LINKS

_HOLDING = ("tasks", "header", "body", "task", "it")


def plain(sig: Any) -> Any:
    """Return a signature without any class of ours; items that a generator has yet to give are taken.

    Other things than signatures stay as they are.
    """
    if not isinstance(sig, Mapping) or "task" not in sig:
        return sig
    made = dict(sig)
    options = {name: value for name, value in made.get("options", {}).items() if name != "reply_to"}
    made["options"] = options | {name: _all(options[name]) for name in OF_LINKS if name in options}
    if made.get("subtask_type"):
        made["kwargs"] = {
            name: _all(value) if name in _HOLDING else value for name, value in made["kwargs"].items()
        }
    return made


def _all(value: Any) -> Any:
    return [plain(item) for item in value] if isinstance(value, list | tuple) else plain(value)
