"""Random workflows as plain data, the value that each must end with, and the signature that it is."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 4


@dataclass(frozen=True)
class Shape:
    """A task with its tag, or a chain, group or chord of parts; the last part of a chord is its body."""

    kind: str
    tag: str = ""
    parts: tuple[Shape, ...] = ()


@dataclass(frozen=True)
class Ends:
    """The values that a part of a workflow ends with, and whether what follows takes their list."""

    values: tuple[str, ...]
    is_list: bool

    @property
    def taken(self) -> Any:
        """What the next task gets."""
        return list(self.values) if self.is_list else self.values[0]


def random_shape(chance: random.Random, name: str) -> Shape:
    """Return a workflow that ends in one task."""
    tags = (f"{name}.{number}" for number in range(1_000_000))
    return Shape("chain", parts=(_part(chance, tags, MAX_DEPTH), Shape("task", next(tags))))


def _part(chance: random.Random, tags: Any, depth: int) -> Shape:
    kind = chance.choice(("task", "chain", "group", "chord")) if depth else "task"
    if kind == "task":
        return Shape("task", next(tags))
    parts = [_part(chance, tags, depth - 1) for _ in range(chance.randint(2, 3))]
    if kind == "chord":
        parts.append(_part(chance, tags, depth - 2 if depth > 1 else 0))
    return Shape(kind, parts=tuple(parts))


def tags_of(shape: Shape) -> list[str]:
    """Return the tags of all tasks."""
    return [shape.tag] if shape.kind == "task" else [tag for part in shape.parts for tag in tags_of(part)]


def value_of(tag: str, taken: Any) -> str:
    """Return what the task of a tag returns for what it was given."""
    return hashlib.sha1(json.dumps([tag, taken]).encode()).hexdigest()[:12]  # noqa: S324 - no secret


def expected(shape: Shape, before: Ends | None = None) -> Ends:
    """Return what a workflow ends with."""
    if shape.kind == "task":
        return Ends((value_of(shape.tag, None if before is None else before.taken),), False)
    if shape.kind == "chain":
        for part in shape.parts:
            before = expected(part, before)
        assert before is not None
        return before
    members = shape.parts if shape.kind == "group" else shape.parts[:-1]
    values = tuple(value for member in members for value in expected(member, before).values)
    ends = Ends(values, True)
    return ends if shape.kind == "group" else expected(shape.parts[-1], ends)


def signature_of(shape: Shape, work: Any) -> Any:
    """Return the signature of a workflow, made with Celery's own names."""
    from river_compat.celery import chain, chord, group

    if shape.kind == "task":
        return work.s(shape.tag)
    parts = [signature_of(part, work) for part in shape.parts]
    if shape.kind == "chord":
        return chord(parts[:-1], parts[-1])
    return chain(*parts) if shape.kind == "chain" else group(parts)
