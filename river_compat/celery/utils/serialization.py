"""Exceptions in a form that another process can make again (`celery.utils.serialization`).

Celery gives handlers and result stores the exception itself where it can be pickled, else its nearest
base class that can, else a wrapper that says what it was.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from river_compat.shortened import short_repr

__all__ = [
    "UnpickleableExceptionWrapper",
    "b64decode",
    "b64encode",
    "create_exception_cls",
    "ensure_serializable",
    "get_pickleable_etype",
    "get_pickleable_exception",
    "get_pickled_exception",
    "pickle",
    "strtobool",
    "subclass_exception",
]

STRTOBOOL_DEFAULT_TABLE = {
    **dict.fromkeys(("false", "no", "0", "off"), False),
    **dict.fromkeys(("true", "yes", "1", "on"), True),
}

_TOO_GENERAL = (Exception, BaseException, object)


class UnpickleableExceptionWrapper(Exception):  # noqa: N818 - the name is Celery's
    """Stands for an exception that cannot be pickled: its module, class name, arguments and text."""

    def __init__(
        self, exc_module: str, exc_cls_name: str, exc_args: Iterable[Any], text: str | None = None
    ) -> None:
        """Keep what is known; arguments that cannot be pickled are kept as their repr."""
        self.exc_module = exc_module
        self.exc_cls_name = exc_cls_name
        self.exc_args = ensure_serializable(exc_args, _round_trip)
        self.text = text
        super().__init__(exc_module, exc_cls_name, self.exc_args, text)

    def restore(self) -> Exception:
        """Return an exception of a made-up class with the name of the original."""
        cls: type[Exception] = type(self.exc_cls_name, (Exception,), {"__module__": self.exc_module})
        return cls(*self.exc_args)

    def __str__(self) -> str:
        """Return the repr of the original."""
        return str(self.text)

    @classmethod
    def from_exception(cls, error: BaseException) -> UnpickleableExceptionWrapper:
        """Wrap an exception; the traceback stays."""
        kind = type(error)
        wrapper = cls(kind.__module__, kind.__name__, error.args, short_repr(error))
        return wrapper.with_traceback(error.__traceback__)


def ensure_serializable(items: Iterable[Any], encoder: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Return the items, each replaced by its repr where `encoder` raises."""
    return tuple(item if _accepts(encoder, item) else short_repr(item) for item in items)


def get_pickleable_exception(error: Any) -> Any:
    """Return the exception, or the nearest thing to it that can be pickled."""
    if error is None or _accepts(_round_trip, error):
        return error
    for cls in type(error).__mro__:
        if cls in _TOO_GENERAL:
            break
        try:
            nearest = cls(*error.args)
        except Exception:  # noqa: BLE001, S112 - the constructor takes other arguments: look further up
            continue
        if _accepts(_round_trip, nearest):
            return nearest
    return UnpickleableExceptionWrapper.from_exception(error)


def get_pickleable_etype(
    cls: type[Any],
    loads: Callable[[bytes], Any] = pickle.loads,
    dumps: Callable[[Any], bytes] = pickle.dumps,
) -> type[Any]:
    """Return an exception's class, or the nearest base of it that can be pickled."""
    for base in cls.__mro__:
        if base in _TOO_GENERAL:
            break
        if _accepts(lambda kind: loads(dumps(kind)), base):
            return base
    return Exception


def create_exception_cls(name: str, module: str, parent: type[Any] | None = None) -> type[Any]:
    """Return a new exception class."""
    return subclass_exception(name, parent or Exception, module)


def subclass_exception(name: str, parent: type[Any], module: str) -> type[Any]:
    """Return a new subclass that says it is of a module."""
    return type(name, (parent,), {"__module__": module})


def strtobool(term: Any, table: Mapping[str, bool] | None = None) -> Any:
    """Return True or False for text such as `yes` and `off`; what is no text as it is.

    Raises TypeError for other text.
    """
    if not isinstance(term, str):
        return term
    try:
        return (table or STRTOBOOL_DEFAULT_TABLE)[term.lower()]
    except KeyError:
        raise TypeError(f"{term!r} is neither true nor false") from None


def b64encode(data: bytes | str) -> str:
    """Return bytes as base64 text."""
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


def b64decode(text: bytes | str) -> bytes:
    """Read what `b64encode` made."""
    return base64.b64decode(text)


def get_pickled_exception(error: Any) -> Any:
    """Return what a wrapper stands for, any other exception as it is."""
    return error.restore() if isinstance(error, UnpickleableExceptionWrapper) else error


def _round_trip(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - reads back what it has just written


def _accepts(encoder: Callable[[Any], Any], value: Any) -> bool:
    try:
        encoder(value)
    except Exception:  # noqa: BLE001 - any error means no
        return False
    return True
