"""Exceptions in a form that another process can make again (`celery.utils.serialization`).

Celery gives handlers and result stores the exception itself where it can be pickled, else its nearest
base class that can, else a wrapper that says what it was.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from river_compat.celery.refused_names import refusing
from river_compat.shortened import short_repr

__all__ = [
    "UnpickleableExceptionWrapper",
    "b64decode",
    "b64encode",
    "create_exception_cls",
    "ensure_serializable",
    "find_pickleable_exception",
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
    def from_exception(cls, exc: BaseException) -> UnpickleableExceptionWrapper:
        """Wrap an exception; the traceback stays."""
        kind = type(exc)
        wrapper = cls(kind.__module__, kind.__name__, exc.args, short_repr(exc))
        return wrapper.with_traceback(exc.__traceback__)


def ensure_serializable(items: Iterable[Any], encoder: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Return the items, each replaced by its repr where `encoder` raises."""
    return tuple(item if _accepts(encoder, item) else short_repr(item) for item in items)


def get_pickleable_exception(exc: Any) -> Any:
    """Return the exception, or the nearest thing to it that can be pickled."""
    if exc is None or _accepts(_round_trip, exc):
        return exc
    nearest = find_pickleable_exception(exc)
    return UnpickleableExceptionWrapper.from_exception(exc) if nearest is None else nearest


def find_pickleable_exception(
    exc: Any,
    loads: Callable[[bytes], Any] = pickle.loads,
    dumps: Callable[[Any], bytes] = pickle.dumps,
) -> Any:
    """Return an exception of the nearest class above that can be pickled, with the same arguments.

    None where only Exception itself is left.
    """
    for cls in itermro(type(exc), _TOO_GENERAL):
        try:
            nearest = cls(*getattr(exc, "args", ()))
            loads(dumps(nearest))
        except Exception:  # noqa: BLE001, S112 - it takes other arguments, or they cannot be pickled
            continue
        return nearest
    return None


def itermro(cls: type[Any], stop: Iterable[type[Any]]) -> Iterator[type[Any]]:
    """Give a class and its bases, in order, up to the first one of these."""
    return takewhile(lambda base: base not in stop, cls.__mro__)


def get_pickleable_etype(
    cls: type[Any],
    loads: Callable[[bytes], Any] = pickle.loads,
    dumps: Callable[[Any], bytes] = pickle.dumps,
) -> type[Any]:
    """Return an exception's class, or the nearest base of it that can be pickled."""
    for base in itermro(cls, _TOO_GENERAL):
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


def b64encode(s: bytes | str) -> str:
    """Return bytes as base64 text."""
    return base64.b64encode(s.encode() if isinstance(s, str) else s).decode()


def b64decode(s: bytes | str) -> bytes:
    """Read what `b64encode` made."""
    return base64.b64decode(s)


def get_pickled_exception(exc: Any) -> Any:
    """Return what a wrapper stands for, any other exception as it is."""
    return exc.restore() if isinstance(exc, UnpickleableExceptionWrapper) else exc


def _round_trip(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - reads back what it has just written


def _accepts(encoder: Callable[[Any], Any], value: Any) -> bool:
    try:
        encoder(value)
    except Exception:  # noqa: BLE001 - any error means no
        return False
    return True


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
