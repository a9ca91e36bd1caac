"""What a workflow must end with, worked out from its shape alone: values, failures, and which bodies run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.acceptance.workflows.shapes import Shape, items_of


@dataclass(frozen=True)
class Value:
    """A task succeeded; a result that is not kept goes on all the same."""

    value: Any


@dataclass(frozen=True)
class Failure:
    """A task failed, or never ran because of the failure of one of the tasks `roots`."""

    kind: str
    roots: frozenset[str]


End = Value | Failure


@dataclass(frozen=True)
class Ends:
    """How the last tasks of a part of a workflow end, and whether what follows takes their list."""

    ends: tuple[End, ...]
    is_list: bool = False
    to_group: bool = False
    """Whether it is a group that follows: its tasks fail as what was before them did."""

    @property
    def failure(self) -> Failure | None:
        """Why what follows cannot run; of several failures any may be the one that it is told."""
        found = [end for end in self.ends if isinstance(end, Failure)]
        if not found:
            return None
        kind = "ChordError" if self.is_list and not self.to_group else found[0].kind
        return Failure(kind, frozenset().union(*(end.roots for end in found)))

    @property
    def taken(self) -> Any:
        """What the next task gets."""
        values = [end.value for end in self.ends if isinstance(end, Value)]
        return values if self.is_list else values[0]


@dataclass
class Forecast:
    """How the whole ends, and the keys under which the ledger must show runs; no others may be there."""

    runs: set[str] = field(default_factory=set)
    end: End = field(default_factory=lambda: Value(None))


def forecast(shape: Shape) -> Forecast:
    """Return what must come of a workflow that ends in one task."""
    found = Forecast()
    found.end = _Reader(found.runs).ends(shape, None).ends[0]
    return found


def value_of(tag: str, taken: Any) -> str:
    """Return what the task of a tag returns for what it was given."""
    return hashlib.sha1(json.dumps([tag, taken]).encode()).hexdigest()[:12]  # noqa: S324 - no secret


class _Reader:
    def __init__(self, runs: set[str]) -> None:
        self._runs = runs
        self._kinds: dict[str, Callable[[Shape, Any], tuple[End, ...]]] = {
            "work": self._work,
            "quiet": self._work,
            "fail": self._fail,
            "quiet_fail": self._fail,
            "retried": self._retried,
            "swap": self._swap,
            "map": self._map,
            "starmap": self._map,
            "chunks": self._chunks,
        }

    def ends(self, shape: Shape, before: Ends | None) -> Ends:
        """Return how a part ends that runs after `before`."""
        if not shape.parts:
            return self._task(shape, before)
        if shape.kind == "chain":
            for part in shape.parts:
                before = self.ends(part, before)
            assert before is not None
            return before
        members = shape.parts if shape.kind == "group" else shape.parts[:-1]
        opened = None if before is None else replace(before, to_group=True)
        ends = Ends(tuple(end for member in members for end in self._of_member(member, opened)), True)
        return ends if shape.kind == "group" else self.ends(shape.parts[-1], ends)

    def _of_member(self, member: Shape, before: Ends | None) -> tuple[End, ...]:
        """Return what a member adds: a group in a group is opened, any other list is one value."""
        found = self.ends(member, before)
        if not found.is_list or member.kind in ("group", "chunks"):
            return found.ends
        return (replace(found, to_group=True).failure or Value(found.taken),)

    def _task(self, shape: Shape, before: Ends | None) -> Ends:
        is_list = shape.kind == "chunks"
        failure = before.failure if before is not None else None
        if failure is not None:
            if before is not None and before.is_list and shape.has_errback:
                self._runs.add(f"told {shape.tag}")
            return Ends((failure,), is_list)
        ends = self._kinds[shape.kind](shape, before.taken if before is not None else None)
        broken = any(isinstance(end, Failure) for end in ends)
        if shape.has_errback and broken:
            self._runs.add(f"told {shape.tag}")
        if shape.has_callback and not broken:
            self._runs.add(f"called {shape.tag}")
        return Ends(ends, is_list)

    def _run(self, tag: str, taken: Any) -> Value:
        self._runs.add(tag)
        return Value(value_of(tag, taken))

    def _work(self, shape: Shape, taken: Any) -> tuple[End, ...]:
        return (self._run(shape.tag, taken),)

    def _fail(self, shape: Shape, taken: Any) -> tuple[End, ...]:
        return (self._failing(shape.tag),)

    def _failing(self, tag: str) -> Failure:
        self._runs.add(tag)
        return Failure("BoomError", frozenset({tag}))

    def _retried(self, shape: Shape, taken: Any) -> tuple[End, ...]:
        self._runs.add(f"{shape.tag}/retry")
        return (self._run(shape.tag, taken),)

    def _map(self, shape: Shape, taken: Any) -> tuple[End, ...]:
        return (Value([self._run(tag, None).value for tag in items_of(shape)]),)

    def _chunks(self, shape: Shape, taken: Any) -> tuple[End, ...]:
        values = [self._run(tag, None).value for tag in items_of(shape)]
        return (Value(values[:2]), Value(values[2:]))

    def _swap(self, shape: Shape, taken: Any) -> tuple[End, ...]:
        self._runs.add(shape.tag)
        first, second, third = (f"{shape.tag}/{number}" for number in range(3))
        value = self._run(first, taken).value
        if shape.swap == "task":
            return (Value(value),)
        if shape.swap == "chain":
            return (self._run(second, value),)
        if shape.swap == "broken":
            return (self._failing(second),)
        values = [value, self._run(second, taken).value]
        return (Value(values),) if shape.swap == "group" else (self._run(third, values),)
