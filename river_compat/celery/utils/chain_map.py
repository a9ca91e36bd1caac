"""A stack of mappings, of which the first one takes the changes (`celery.utils.collections`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any, Self


class IteratedMapping(MutableMapping[str, Any]):
    """A mapping with Python 2's names for its iterators, which Celery's have."""

    def iterkeys(self) -> Iterator[str]:
        """Iterate over the keys."""
        return iter(self)

    def itervalues(self) -> Iterator[Any]:
        """Iterate over the values."""
        return (self[key] for key in self)

    def iteritems(self) -> Iterator[tuple[str, Any]]:
        """Iterate over keys and values."""
        return ((key, self[key]) for key in self)


class Layers(IteratedMapping):
    """What Celery's stacks of mappings have and others do not."""

    key_t: Any = None

    def bind_to(self, callback: Callable[..., Any]) -> None:
        """Call back after every `update`, with what that was given."""
        self.__dict__.setdefault("_observers", []).append(callback)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Set several values, given as a mapping, as pairs or by keyword."""
        given = tuple(dict(each) for each in args)
        super().update(*given, **kwargs)
        for callback in self.__dict__.get("_observers", ()):
            callback(*given, **kwargs)

    @classmethod
    def fromkeys(cls, iterable: Iterable[str], *args: Any) -> Self:
        """Return one with these keys and one value, by default None."""
        return cls(dict.fromkeys(iterable, *args))  # type: ignore[call-arg]  # every stack takes a mapping


class ChainMap(Layers):
    """Looks keys up in several mappings, one after the other; `key_t` changes keys before that."""

    changes: Any = None
    defaults: Any = None

    def __init__(self, *maps: Any, key_t: Callable[[Any], Any] | None = None) -> None:
        """Take the mapping that changes go to, and those below it."""
        changes, *defaults = maps or ({},)
        self.__dict__.update(changes=changes, defaults=defaults, key_t=key_t)

    @property
    def maps(self) -> list[Any]:
        """The changes and the defaults."""
        return [self.changes, *self.defaults]

    def add_defaults(self, d: Any) -> None:
        """Put a mapping, or an object with attributes, right below the changes."""
        from river_compat.celery.utils.collections import force_mapping  # which imports this module

        self.defaults.insert(0, force_mapping(d))

    def _key(self, key: Any) -> Any:
        return key if self.key_t is None else self.key_t(key)

    def _spellings(self, key: Any) -> tuple[Any, ...]:
        return (self._key(key),)

    def __getitem__(self, key: Any) -> Any:
        """Return the first value found; raises KeyError."""
        for values in self.maps:
            for spelling in self._spellings(key):
                if spelling in values:
                    return values[spelling]
        return self.__missing__(key)

    def __missing__(self, key: Any) -> Any:
        """Raise KeyError; may be overridden."""
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        """Whether any mapping has the key."""
        return any(spelling in values for values in self.maps for spelling in self._spellings(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        """Change a value."""
        self.changes[self._key(key)] = value

    def __delitem__(self, key: Any) -> None:
        """Forget a change; raises KeyError."""
        del self.changes[self._key(key)]

    def pop(self, key: Any, *default: Any) -> Any:
        """Forget a change and return it, or the default; raises KeyError."""
        return self.changes.pop(self._key(key), *default)

    def clear(self) -> None:
        """Forget the changes."""
        self.changes.clear()

    def copy(self) -> Self:
        """Return the same with changes of its own."""
        return type(self)(self.changes.copy(), *self.defaults, key_t=self.key_t)

    def __copy__(self) -> Self:
        """Return the same with changes of its own."""
        return self.copy()

    def __iter__(self) -> Iterator[Any]:
        """Iterate over every key."""
        return iter(dict.fromkeys(key for values in reversed(self.maps) for key in values))

    def __len__(self) -> int:
        """Return how many keys there are."""
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        """Whether any mapping has a key."""
        return any(self.maps)

    def __repr__(self) -> str:
        """Show the mappings."""
        return f"{type(self).__name__}({', '.join(map(repr, self.maps))})"


class PrefixedChainMap(ChainMap):
    """Looks for a key with a prefix first, and then for what functions make of it."""

    def __init__(
        self,
        changes: Any,
        defaults: Iterable[Mapping[str, Any]] | None = None,
        keys: Iterable[Callable[[str], str]] | None = None,
        prefix: str | None = None,
    ) -> None:
        """Take the mapping that changes go to, the mappings below it, the functions, and the prefix."""
        super().__init__(changes, *(defaults or ()))
        self.__dict__.update(prefix=f"{prefix.rstrip('_')}_" if prefix else prefix, _keys=tuple(keys or ()))

    def _spellings(self, key: Any) -> tuple[Any, ...]:
        prefix, makers = self.__dict__["prefix"], self.__dict__["_keys"]
        found = [key]
        if prefix:
            full = key if key.startswith(prefix) else prefix + key
            found.insert(0, full.upper() if prefix.isupper() else full.lower())
        return tuple(self._key(spelling) for spelling in (*found, *(make(key) for make in makers)))

    def copy(self) -> Self:
        """Return the same with changes of its own."""
        parts = self.__dict__
        made = type(self)(self.changes.copy(), self.defaults, parts["_keys"], parts["prefix"])
        made.__dict__["key_t"] = self.key_t
        return made

    def first(self, *keys: str) -> Any:
        """Return the value of the first key that has one, or None."""
        return next((self[key] for key in keys if self.get(key) is not None), None)

    def swap_with(self, other: Any) -> None:
        """Take over all that makes up another one."""
        names = ("changes", "defaults", "key_t", "prefix", "_keys")
        self.__dict__.update({name: other.__dict__[name] for name in names})
