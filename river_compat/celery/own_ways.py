"""Which methods are still the library's own: neither overridden by an application nor wrapped by a tracer.

What is done once for many calls may pass by a method that would be called for each, if it is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_OWN: set[Any] = set()


def own(function: F) -> F:
    """Note a function of this library, at its definition; nothing is changed about it."""
    _OWN.add(function)
    return function


def is_own(method: Any) -> bool:
    """Whether a method that was found on an object is one that was noted so."""
    return getattr(method, "__func__", None) in _OWN
