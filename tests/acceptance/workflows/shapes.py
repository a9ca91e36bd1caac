"""Random workflows as plain data, and the signature that each is, made with Celery's own names."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 4
CONTAINERS = ("chain", "group", "chord")
ORDINARY = "work"
SPECIAL = ("quiet", "retried", "swap", "map", "starmap", "chunks")
"""Kinds of single tasks that something is special about; `fail` and `quiet_fail` come in addition."""
SWAPS = ("task", "chain", "group", "chord", "broken")
"""What a task of kind `swap` puts in its own place."""
CHANCE_OF_CONTAINER = 0.6
CHANCE_OF_SPECIAL = 0.35
CHANCE_OF_FAILURE = 0.02
CHANCE_OF_LINK = 0.1


@dataclass(frozen=True)
class Shape:
    """A task with its tag, or a chain, group or chord of parts; the last part of a chord is its body."""

    kind: str
    tag: str = ""
    parts: tuple[Shape, ...] = ()
    swap: str = ""
    has_callback: bool = False
    has_errback: bool = False


def random_shape(chance: random.Random, name: str) -> Shape:
    """Return a workflow that ends in one task."""
    tags = (f"{name}.{number}" for number in range(1_000_000))
    return Shape("chain", parts=(_part(chance, tags, MAX_DEPTH), Shape(ORDINARY, next(tags))))


def _part(chance: random.Random, tags: Iterator[str], depth: int) -> Shape:
    if not depth or chance.random() > CHANCE_OF_CONTAINER:
        return _task(chance, next(tags))
    kind = chance.choice(CONTAINERS)
    parts = [_part(chance, tags, depth - 1) for _ in range(chance.randint(2, 3))]
    if kind == "chord":
        parts.append(_part(chance, tags, max(depth - 2, 0)))
    return Shape(kind, parts=tuple(parts))


def _task(chance: random.Random, tag: str) -> Shape:
    kind = ORDINARY
    if chance.random() < CHANCE_OF_FAILURE:
        kind = chance.choice(("fail", "quiet_fail"))
    elif chance.random() < CHANCE_OF_SPECIAL:
        kind = chance.choice(SPECIAL)
    is_group = kind == "chunks"
    return Shape(
        kind,
        tag,
        swap=chance.choices(SWAPS, (4, 4, 4, 4, 1))[0] if kind == "swap" else "",
        has_callback=not is_group and chance.random() < CHANCE_OF_LINK,
        has_errback=not is_group and (kind == "fail" or chance.random() < CHANCE_OF_LINK),
    )


def signature_of(shape: Shape, app: Any) -> Any:
    """Return the signature of a workflow."""
    from river_compat.celery import chain, chord, group

    if not shape.parts:
        return _linked(shape, _signature_of_task(shape, app), app)
    parts = [signature_of(part, app) for part in shape.parts]
    if shape.kind == "chord":
        return chord(parts[:-1], parts[-1], app=app)
    return chain(*parts) if shape.kind == "chain" else group(parts, app=app)


def _signature_of_task(shape: Shape, app: Any) -> Any:
    from river_compat.celery.canvas import chunks, xmap, xstarmap

    work, tags = app.signature(ORDINARY), items_of(shape)
    if shape.kind == "map":
        return xmap(work, tags, app=app)
    if shape.kind == "starmap":
        return xstarmap(work, [(tag,) for tag in tags], app=app)
    if shape.kind == "chunks":
        return chunks(work, [(tag,) for tag in tags], 2, app=app).group()
    args = (shape.swap, shape.tag) if shape.kind == "swap" else (shape.tag,)
    made = app.signature(shape.kind.removeprefix("quiet_") if shape.kind != "quiet" else ORDINARY, args)
    return made.set(ignore_result=True) if shape.kind.startswith("quiet") else made


def items_of(shape: Shape) -> list[str]:
    """Return the tags of the calls that a `map`, `starmap` or `chunks` makes."""
    return [f"{shape.tag}/{number}" for number in range(3)]


def _linked(shape: Shape, sig: Any, app: Any) -> Any:
    if shape.has_callback:
        sig.link(app.signature("called_back", (shape.tag,)))
    if shape.has_errback:
        sig.link_error(app.signature("told_of_error", (shape.tag,)))
    return sig
