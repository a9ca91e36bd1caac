"""Sequences of signatures that are made only when they are looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, SupportsIndex


class Lazy(list[Any]):
    """A list that takes its items from an iterator when they are asked for, and keeps them."""

    def __init__(self, source: Iterable[Any]) -> None:
        """Take the iterable; nothing is taken from it yet."""
        super().__init__()
        self._source: Iterator[Any] | None = iter(source)
        self._changes: list[Callable[[Any], Any]] = []

    @property
    def is_consumed(self) -> bool:
        """Whether the iterator is known to have ended."""
        return self._source is None

    def map(self, change: Callable[[Any], Any]) -> None:
        """Pass each item through `change`: those that are there now, the others when they come."""
        super().__setitem__(slice(None), [change(item) for item in super().__iter__()])
        self._changes.append(change)

    def _more(self) -> bool:
        if self._source is None:
            return False
        try:
            item = next(self._source)
        except StopIteration:
            self._source = None
            return False
        for change in self._changes:
            item = change(item)
        super().append(item)
        return True

    def _fill(self) -> None:
        while self._more():
            pass

    def __iter__(self) -> Iterator[Any]:
        """Give the items, taking more as they are needed."""
        at = 0
        while at < super().__len__() or self._more():
            yield super().__getitem__(at)
            at += 1

    def __getitem__(self, index: Any) -> Any:
        """Return an item or a slice. One more than needed is taken, so that the end is noticed."""
        if isinstance(index, int) and index >= 0:
            while super().__len__() <= index + 1 and self._more():
                pass
        else:
            self._fill()
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Replace items."""
        self._fill()
        super().__setitem__(index, value)

    def __len__(self) -> int:
        """Return the number of items; takes all of them."""
        self._fill()
        return super().__len__()

    def __length_hint__(self) -> int:
        """Return how many items have been taken so far."""
        return super().__len__()

    def __bool__(self) -> bool:
        """Whether there is at least one item."""
        return super().__len__() > 0 or self._more()

    def __contains__(self, item: object) -> bool:
        """Look through the items."""
        return any(item == other for other in self)

    def __eq__(self, other: object) -> bool:
        """Compare with any list; takes all items."""
        self._fill()
        return super().__eq__(other)

    __hash__ = None  # as any list

    def __add__(self, other: Any) -> Any:
        """Return a plain list of both."""
        return [*self, *other]

    def __repr__(self) -> str:
        """Show as a list; takes all items."""
        return repr(list(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy as a plain list."""
        return list, (list(self),)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """Pickle and copy as a plain list."""
        return self.__reduce__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Lazy:
        """Stay as it is: an iterator can be taken from only once."""
        return self


def lazy(items: Any) -> Any:
    """Return a list or tuple as it is, any other iterable as one that is taken from when needed."""
    return items if isinstance(items, list | tuple) else Lazy(items)


def is_many(value: Any) -> bool:
    """Whether a value is an iterable of things, and no mapping or text."""
    return isinstance(value, Iterable) and not isinstance(value, Mapping | str | bytes)


def as_list(value: Any) -> list[Any]:
    """Return a value as a list: None as none, one thing as a list of one."""
    if value is None:
        return []
    return list(value) if is_many(value) else [value]
