"""Helpers around objects and their classes (`celery.utils.objects`)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Generic, TypeVar

__all__ = ["Bunch", "FallbackContext", "getitem_property", "mro_lookup"]

T = TypeVar("T")
A = TypeVar("A")


class Bunch:
    """An object whose attributes are the keywords it was made with."""

    def __init__(self, **kwargs: Any) -> None:
        """Keep the keywords."""
        self.__dict__.update(kwargs)


def mro_lookup(
    cls: type[Any],
    attr: str,
    stop: Collection[type[Any]] | None = None,
    monkey_patched: Collection[str] | None = None,
) -> type[Any] | None:
    """Return the class that defines an attribute, or None where the search stops before it.

    An attribute whose function is of one of the modules `monkey_patched` counts as the class's own.
    """
    for node in cls.mro():
        if node in (stop or ()):
            value = node.__dict__.get(attr)
            patched = value is not None and getattr(value, "__module__", None) not in (monkey_patched or ())
            return node if monkey_patched and patched else None
        if attr in node.__dict__:
            return node
    return None


class FallbackContext(Generic[T, A]):
    """A context that gives a value that is there, or else makes one and ends it."""

    def __init__(
        self, provided: T | None, fallback: Callable[..., Any], *fb_args: Any, **fb_kwargs: Any
    ) -> None:
        """Take the value, and what makes a context in its absence."""
        self.provided = provided
        self.fallback = fallback
        self.fb_args = fb_args
        self.fb_kwargs = fb_kwargs
        self._context: Any = None

    def __enter__(self) -> Any:
        """Return the value."""
        if self.provided is not None:
            return self.provided
        self._context = self.fallback(*self.fb_args, **self.fb_kwargs)
        return self._context.__enter__()

    def __exit__(self, *exc_info: Any) -> Any:
        """End what was made here."""
        context, self._context = self._context, None
        return context.__exit__(*exc_info) if context is not None else None


class getitem_property:  # noqa: N801 - the name is Celery's
    """An attribute that stands for a key, or a dotted path of keys, of its object."""

    def __init__(self, keypath: str, doc: str | None = None) -> None:
        """Take the path, such as `options.queue`."""
        *self.path, self.key = keypath.split(".")
        self.__doc__ = doc

    def _holder(self, obj: Any) -> Any:
        for key in self.path:
            obj = obj[key]
        return obj

    def __get__(self, obj: Any, owner: Any = None) -> Any:
        """Return the value, None where the key is missing."""
        return owner if obj is None else self._holder(obj).get(self.key)

    def __set__(self, obj: Any, value: Any) -> None:
        """Set the value."""
        self._holder(obj)[self.key] = value
