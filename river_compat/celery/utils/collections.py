"""Mappings that several others make up, or that are attributes too (`celery.utils.collections`)."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from river_compat.celery.refused_names import lacking, refusing
from river_compat.celery.utils.chain_map import ChainMap, IteratedMapping, PrefixedChainMap
from river_compat.celery.ways_out import INTERNAL

__all__ = [
    "AttributeDict",
    "AttributeDictMixin",
    "ChainMap",
    "ConfigurationView",
    "DictAttribute",
    "LimitedSet",
    "OrderedDict",
    "force_mapping",
    "lpmerge",
]


def force_mapping(m: Any) -> Any:
    """Return an object's attributes as a mapping; a mapping as it is."""
    return m if isinstance(m, Mapping) else DictAttribute(m)


def lpmerge(L: Mapping[str, Any], R: Mapping[str, Any]) -> dict[str, Any]:  # noqa: N803 - Celery's names
    """Return both, the right one's values where they are not None."""
    return {**L, **{key: value for key, value in R.items() if value is not None}}


class AttributeDictMixin:
    """Makes the keys of a mapping attributes of it."""

    def __getattr__(self, k: str) -> Any:
        """Return a key's value; raises AttributeError."""
        values: Any = self
        try:
            return values[k]
        except KeyError:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {k!r}") from None

    def __setattr__(self, key: str, value: Any) -> None:
        """Set a key."""
        values: Any = self
        values[key] = value


class AttributeDict(dict[str, Any], AttributeDictMixin):
    """A dict whose keys are attributes too."""


class DictAttribute(IteratedMapping):
    """The attributes of an object as a mapping."""

    def __init__(self, obj: Any) -> None:
        """Take the object."""
        object.__setattr__(self, "obj", obj)

    def __getattr__(self, key: str) -> Any:
        """Read from the object."""
        return getattr(self.__dict__["obj"], key)

    def __setattr__(self, key: str, value: Any) -> None:
        """Write to the object."""
        setattr(self.obj, key, value)

    def __getitem__(self, key: str) -> Any:
        """Read from the object; raises KeyError."""
        try:
            return getattr(self.obj, key)
        except AttributeError:
            raise KeyError(key) from None

    def __setitem__(self, key: str, value: Any) -> None:
        """Write to the object."""
        setattr(self.obj, key, value)

    def __delitem__(self, key: str) -> None:
        """Delete from the object; raises KeyError."""
        try:
            delattr(self.obj, key)
        except AttributeError:
            raise KeyError(key) from None

    def __contains__(self, key: object) -> bool:
        """Whether the object has the attribute."""
        return isinstance(key, str) and hasattr(self.obj, key)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(dir(self.obj))

    def __len__(self) -> int:
        """Return how many names there are."""
        return len(dir(self.obj))


class ConfigurationView(PrefixedChainMap, AttributeDictMixin):
    """Changes over a stack of defaults, read by key or attribute."""


@lacking(INTERNAL, "max_heap_percent_overload")
class LimitedSet:
    """A set that keeps the latest `maxlen` items, and items older than `expires` seconds no longer."""

    def __init__(
        self,
        maxlen: int = 0,
        expires: float = 0,
        data: Any = None,
        minlen: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """0 means no limit; `minlen` items stay whatever their age."""
        if not minlen >= 0 and (not maxlen or minlen <= maxlen):
            raise ValueError("minlen must be between 0 and maxlen")
        self.maxlen, self.expires, self.minlen = maxlen, expires, minlen
        self._clock = clock
        self._data: OrderedDict[Any, float] = OrderedDict()
        self.update(data or ())

    def add(self, item: Any, now: float | None = None) -> None:
        """Add an item, or make it the latest."""
        self._data.pop(item, None)
        self._data[item] = self._clock() if now is None else now
        if self.maxlen and len(self._data) > self.maxlen:
            self._data.popitem(last=False)
        self.purge()

    def update(self, other: Any) -> None:
        """Add several: another set with their ages, a mapping of item to time, or items."""
        ages = other.as_dict() if isinstance(other, LimitedSet) else other
        if isinstance(ages, Mapping):
            for item, added in sorted(ages.items(), key=lambda pair: pair[1]):
                self.add(item, added)
        else:
            for item in ages:
                self.add(item)

    def purge(self, now: float | None = None) -> None:
        """Drop what is too old."""
        if not self.expires:
            return
        oldest_allowed = (self._clock() if now is None else now) - self.expires
        while len(self._data) > self.minlen and next(iter(self._data.values())) < oldest_allowed:
            self._data.popitem(last=False)

    def discard(self, item: Any) -> None:
        """Remove an item if it is there."""
        self._data.pop(item, None)

    pop_value = discard

    def pop(self, default: Any = None) -> Any:
        """Remove and return the oldest item, or the default."""
        return self._data.popitem(last=False)[0] if self._data else default

    def clear(self) -> None:
        """Remove everything."""
        self._data.clear()

    def as_dict(self) -> dict[Any, float]:
        """Return items and when they were added."""
        return dict(self._data)

    def __contains__(self, item: object) -> bool:
        """Whether an item is there and not too old."""
        self.purge()
        return item in self._data

    def __iter__(self) -> Iterator[Any]:
        """Iterate from the oldest on."""
        return iter(list(self._data))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._data)

    def __eq__(self, other: object) -> bool:
        """Whether another set has the same items of the same age."""
        return isinstance(other, LimitedSet) and self._data == other._data

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Show how many there are."""
        return f"<LimitedSet({len(self)}): maxlen={self.maxlen}, expires={self.expires}>"


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
