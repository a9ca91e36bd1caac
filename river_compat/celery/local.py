"""Proxies: objects that stand for another one that is made, or looked up, when it is used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import GenericAlias
from typing import TYPE_CHECKING, Any

from river_compat.celery.refused_names import refusing


class Proxy:
    """Stands for whatever `target()` returns at each use, as `current_app` and `@shared_task` need it."""

    __slots__ = ("_Proxy__target", "__dict__")

    def __init__(self, target: Callable[[], Any], doc: str | None = None) -> None:
        """Take the function that finds the object; `doc` is shown before it is found."""
        object.__setattr__(self, "_Proxy__target", target)
        if doc is not None:
            object.__setattr__(self, "__doc__", doc)

    def _get_current_object(self) -> Any:
        """Return the object itself."""
        return object.__getattribute__(self, "_Proxy__target")()

    @property  # type: ignore[misc]  # a proxy is never given another class
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]  # as above
        """Be an instance of the object's class for `isinstance`."""
        return self._get_current_object().__class__

    @property
    def __wrapped__(self) -> Any:
        """Let `inspect` see through."""
        return self._get_current_object().__wrapped__

    def __getattr__(self, name: str) -> Any:
        """Read from the object."""
        return getattr(self._get_current_object(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Write to the object."""
        setattr(self._get_current_object(), name, value)

    def __delattr__(self, name: str) -> None:
        """Delete from the object."""
        delattr(self._get_current_object(), name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the object."""
        return self._get_current_object()(*args, **kwargs)

    def __repr__(self) -> str:
        """Show the object."""
        return repr(self._get_current_object())

    def __str__(self) -> str:
        """Show the object."""
        return str(self._get_current_object())

    def __bool__(self) -> bool:
        """Be false for a missing object, as `current_task` outside a task."""
        return bool(self._get_current_object())

    def __eq__(self, other: object) -> bool:
        """Compare the objects."""
        return bool(self._get_current_object() == _unwrapped(other))

    def __hash__(self) -> int:
        """Hash the object."""
        return hash(self._get_current_object())

    def __dir__(self) -> list[str]:
        """List the object's names."""
        return dir(self._get_current_object())

    def __or__(self, other: object) -> Any:
        """Combine the objects."""
        return self._get_current_object() | _unwrapped(other)

    def __contains__(self, item: object) -> bool:
        """Look into the object."""
        return item in self._get_current_object()

    def __getitem__(self, key: Any) -> Any:
        """Read an item of the object."""
        return self._get_current_object()[key]

    def __reduce__(self) -> Any:
        """Pickle the object itself."""
        return self._get_current_object().__reduce__()


class PromiseProxy(Proxy):
    """A proxy that makes its object once, at the first use."""

    __slots__ = ("_PromiseProxy__made", "_PromiseProxy__waiting")

    def __init__(self, make: Callable[[], Any], doc: str | None = None) -> None:
        """Take the function that makes the object."""
        made: list[Any] = []
        waiting: list[Callable[[], Any]] = []

        def target() -> Any:
            if not made:
                made.append(make())
                while waiting:
                    waiting.pop(0)()
            return made[0]

        object.__setattr__(self, "_PromiseProxy__made", made)
        object.__setattr__(self, "_PromiseProxy__waiting", waiting)
        super().__init__(target, doc)

    def __then__(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Call a function once the object is made; at once if it is."""
        if object.__getattribute__(self, "_PromiseProxy__made"):
            function(*args, **kwargs)
        else:
            waiting = object.__getattribute__(self, "_PromiseProxy__waiting")
            waiting.append(lambda: function(*args, **kwargs))


def _unwrapped(value: Any) -> Any:
    return value._get_current_object() if type(value) in (Proxy, PromiseProxy) else value


def maybe_evaluate(obj: Any) -> Any:
    """Return the object behind a proxy, or the value itself."""
    return _unwrapped(obj)


class class_property:  # noqa: N801 - the name is Celery's
    """A property of a class as well as of its instances; what is set on an instance is set on the class."""

    def __init__(self, getter: Any = None, setter: Any = None) -> None:
        """Take functions of the class, or class methods."""
        self._get = _function_of(getter)
        self._set = _function_of(setter)
        self.__doc__ = getattr(self._get, "__doc__", None)

    __class_getitem__: Any = classmethod(GenericAlias)

    def __get__(self, obj: Any, cls: Any = None) -> Any:
        """Return the value."""
        return self._get(cls if cls is not None else type(obj))

    def __set__(self, obj: Any, value: Any) -> None:
        """Set the value; raises AttributeError without a setter."""
        if self._set is None:
            raise AttributeError("this attribute cannot be set")
        self._set(type(obj), value)

    def setter(self, setter: Any) -> class_property:
        """Return the same with a setter."""
        return type(self)(self._get, setter)


def _function_of(method: Any) -> Any:
    return getattr(method, "__func__", method)


def try_import(module: str, default: Any = None) -> Any:
    """Return a module, or the default where it cannot be imported."""
    try:
        return import_module(module)
    except ImportError:
        return default


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
