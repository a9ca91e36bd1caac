"""Proxies: objects that stand for another one that is made, or looked up, when it is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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


def maybe_evaluate(value: Any) -> Any:
    """Return the object behind a proxy, or the value itself."""
    return _unwrapped(value)
