"""What `|` and `chain(...)` make of their operands.

A group that something follows becomes a chord; what follows a chord goes on from its body; a group of one
on the right is its task; an empty group is nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, reduce
from operator import or_
from typing import Any

from river_compat.celery.canvas.lazy import Lazy
from river_compat.celery.canvas.signature import Signature
from river_compat.celery.leftovers import refuse_operand


def is_chain(sig: Any) -> bool:
    """Whether a signature is a chain."""
    return isinstance(sig, _types()[0])


def is_group(sig: Any) -> bool:
    """Whether a signature is a group."""
    return isinstance(sig, _types()[1])


def is_chord(sig: Any) -> bool:
    """Whether a signature is a chord."""
    return isinstance(sig, _types()[2])


@cache
def _types() -> tuple[Any, Any, Any]:
    from river_compat.celery.canvas.chains import _chain
    from river_compat.celery.canvas.chords import _chord
    from river_compat.celery.canvas.groups import group

    return _chain, group, _chord


def is_empty_group(sig: Any) -> bool:
    """Whether a signature is a group without tasks; one of a generator is asked for its first."""
    return is_group(sig) and not sig.tasks


def unrolled(sig: Any) -> Any:
    """Return the only task of a group of one, else the signature itself."""
    return sig.tasks[0] if is_group(sig) and len(sig.tasks) == 1 else sig


def width(sig: Any) -> int:
    """Return how many values a member of a header brings: that of its last tasks."""
    if isinstance(sig, dict) and not isinstance(sig, Signature):
        sig = Signature.from_dict(sig)
    if is_group(sig):
        return sum(width(task) for task in getattr(sig.tasks, "tasks", sig.tasks))
    if is_chain(sig):
        return next((size for task in reversed(sig.tasks) if (size := width(task)) > 0), 0)
    if is_chord(sig):
        return width(sig.body)
    return 1 if isinstance(sig, Signature) else len(sig)


def after_task(left: Any, right: Any) -> Any:
    """Return `task | right`."""
    chain, group, _ = _types()
    if isinstance(right, chain):
        return chain([left, *right.unchain_tasks()], app=left._app)
    if isinstance(right, group):
        return chain(left, unrolled(right), app=left.app)
    if isinstance(right, Signature):
        return chain(left, right, app=left._app)
    refuse_operand(right)
    return NotImplemented


def after_group(left: Any, right: Any) -> Any:
    """Return `group | right`."""
    if is_empty_group(right) and not isinstance(right.tasks, Lazy):
        return left
    return _types()[2](left, body=right, app=left._app)


def after_chord(left: Any, right: Any) -> Any:
    """Return `chord | right`: what is one task goes on from the body."""
    right = unrolled(right)
    if not isinstance(right, Signature) or is_group(right) or is_chain(right):
        return after_task(left, right)
    longer = left.clone()
    longer.body = longer.body | right
    return longer


def after_chain(left: Any, right: Any) -> Any:
    """Return `chain | right`."""
    if is_empty_group(right):
        return left
    if is_chain(right):
        return reduce(or_, right.unchain_tasks(), left)
    right = unrolled(right)
    if is_group(right):
        return _group_after_chain(left, right)
    if is_chain(right):
        return after_chain(left, right)
    refuse_operand(right)
    return _task_after_chain(left, right) if isinstance(right, Signature) else NotImplemented


def _group_after_chain(left: Any, right: Any) -> Any:
    tasks = left.unchain_tasks()
    if not tasks:
        return right
    if is_chord(tasks[-1]):
        tasks[-1].body = tasks[-1].body | right
        return type(left)(tasks, app=left.app)
    return type(left)([*tasks, right], app=left._app)


def _task_after_chain(left: Any, right: Any) -> Any:
    last = left.tasks[-1] if left.tasks else None
    if is_group(last):
        longer = left.clone()
        made = _types()[2](longer.tasks[-1], right, app=left._app)
        before = longer.tasks[:-1]
        if before and is_chord(before[-1]):
            before[-1].body = before[-1].body | made
            longer.tasks = before
        else:
            longer.tasks = [*before, made]
        return longer
    if is_chord(last) and not is_chord(right):
        longer = left.clone()
        longer.tasks[-1].body = longer.tasks[-1].body | right
        return longer
    return type(left)([*left.unchain_tasks(), right], app=left._app)


def fold(tasks: Iterable[Any]) -> Any:
    """Return `_chain() | a | b | c` for many, in one pass: each is copied once, the last one not at all."""
    chain = _types()[0]
    items = list(tasks)
    steps: list[Any] = []
    for at, item in enumerate(items):
        grown = _grown(steps, item, keep=at == len(items) - 1)
        if grown is NotImplemented:
            return reduce(or_, items, chain())
        if grown is not steps:
            return reduce(or_, items[at + 1 :], grown)
    return chain([*(step.clone() for step in steps[:-1]), *steps[-1:]])


def _grown(steps: list[Any], item: Any, keep: bool) -> Any:
    """Add `item` to the steps of a chain and return them, or what replaces the chain.

    Without `keep` a copy of the item is added.
    """
    if is_empty_group(item):
        return steps
    if is_chain(item):
        return _grown_by_all(steps, item.unchain_tasks(), keep)
    item = unrolled(item)
    if is_chain(item):
        return _grown(steps, item, keep)
    if not isinstance(item, Signature):
        return NotImplemented
    if is_group(item) and not steps:
        return item
    last: Any = steps[-1] if steps else None
    if is_chord(last) and not is_chord(item):
        last.body = last.body | item
        return steps
    added = item if keep else item.clone()
    if is_group(last) and not is_group(item):
        steps[-1] = _types()[2](last, added)
    else:
        steps.append(added)
    return steps


def _grown_by_all(steps: list[Any], items: list[Any], keep: bool) -> Any:
    for at, item in enumerate(items):
        grown = _grown(steps, item, keep and at == len(items) - 1)
        if grown is NotImplemented:
            return grown
        if grown is not steps:
            return reduce(or_, items[at + 1 :], grown)
    return steps
