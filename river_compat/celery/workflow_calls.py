"""What a call says about the workflow that it is part of: its links, and the headers that tell of it."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from river_compat.celery.exceptions import unsupported
from river_compat.celery.message import Embedded
from river_compat.celery.timing import checked_seconds
from river_compat.celery.waiting_step import (
    ENDS_CHORD,
    EXPIRES_IN,
    FOLLOWS,
    LIST,
    ONE,
    SHAPE,
    TAKES,
    TELLS,
)
from river_core.links import Feed, Links

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_compat.celery.canvas.plan import Step

STAMPS = "python_task_stamps"
"""Metadata key: the stamps of a task, so that it is found by them."""
FEEDS_OF_CHORD = "river_feeds"
"""In the option `chord` of a task that joins a stored chord: the ids of the rows that wait for it; none for
a task that takes the place of one that is in it."""


def embedded(options: Mapping[str, Any]) -> Embedded:
    """Return what travels in the body: the callbacks and errbacks of the call."""
    if not options.get("link") and not options.get("link_error"):
        return Embedded()
    from river_compat.celery.canvas.linking import linked
    from river_compat.celery.canvas.plain import plain

    for name in ("link", "link_error"):
        for item in linked(options.get(name)):
            if not isinstance(item, Mapping):
                raise TypeError(f"{name} must be a signature or a list of them, not {item!r}")
    callbacks = [plain(item) for item in linked(options.get("link"))]
    errbacks = [plain(item) for item in linked(options.get("link_error"))]
    return Embedded(callbacks or None, errbacks or None)


def links(options: Mapping[str, Any], step: Step | None) -> Links | None:
    """Return how the row of a call hangs together with others; None where it does not."""
    feeds = [Feed(target) for target in _chord_of(options).get(FEEDS_OF_CHORD, ())]
    if step is None:
        return Links(feeds=tuple(feeds)) if feeds else None
    feeds.extend(step.feeds)
    if step.name is None and not feeds:
        return None
    delay = options.get("countdown") if step.name is not None else None
    return Links(step.name, tuple(feeds), checked_seconds("countdown", delay or 0.0))


def _chord_of(options: Mapping[str, Any]) -> Mapping[str, Any]:
    chord = options.get("chord")
    return chord if isinstance(chord, Mapping) else {}


def headers(
    options: Mapping[str, Any], step: Step | None, task_id: str, root_id: str | None
) -> dict[str, Any]:
    """Return the headers that tell of the workflow; None for what is not so."""
    found: dict[str, Any] = {"group_index": options.get("group_index"), **_stamps(options)}
    if step is None:
        found["chord"] = _joined_chord(options)
        return found
    if step.before:
        last = step.before[-1]
        found["root_id"], found["parent_id"] = last.root_id, last.sig.id
        found[TAKES] = _takes(step)
        found[SHAPE] = step.shape if found[TAKES] == LIST else None
        found[ENDS_CHORD] = (step.ends_chord and not step.in_group) or None
        found[TELLS] = (step.told_as or True) if step.ends_chord and options.get("link_error") else None
        if isinstance(options.get("expires"), numbers.Real):
            found[EXPIRES_IN] = options["expires"]
    step.root_id = found.get("root_id") or root_id or task_id
    found["chord"] = _stub(step.body.sig) if step.body is not None else _stored_chord(options)
    found[FOLLOWS] = _child(step.follows)
    return found


def _takes(step: Step) -> str | None:
    if step.sig.immutable or not step.start.takes:
        return None
    return LIST if step.takes_list else ONE


def _joined_chord(options: Mapping[str, Any]) -> Any:
    if _chord_of(options) and not is_stored_chord(options.get("chord")):
        raise unsupported(
            "the option chord= of a single task",
            "send a chord, or call self.add_to_chord() in one of its tasks",
        )
    return _stored_chord(options)


def is_stored_chord(chord: Any) -> bool:
    """Whether an option `chord` is of one that is stored already, which a task joins or is part of."""
    return isinstance(chord, Mapping) and FEEDS_OF_CHORD in chord


def _stored_chord(options: Mapping[str, Any]) -> Any:
    chord: Any = options.get("chord")
    if not is_stored_chord(chord):
        return None
    return {name: value for name, value in chord.items() if name != FEEDS_OF_CHORD} or None


def _stub(sig: Any) -> dict[str, Any]:
    """Return a chord's body in short: which task, and under which id."""
    return {"task": sig.task, "options": {"task_id": sig.id}}


def _child(result: Any) -> Any:
    """Return a result as a child of another one: the id, or ids of a group; its parents are known by then."""
    if result is None or not hasattr(result, "results"):
        return None if result is None else result.id
    return [[result.id, None], [[[member.id, None], None] for member in result.results]]


def _stamps(options: Mapping[str, Any]) -> dict[str, Any]:
    names = options.get("stamped_headers")
    if not names:
        return {}
    return {"stamped_headers": list(names), "stamps": {name: options.get(name) for name in names}}


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | set | frozenset) else [value]


def stamps_metadata(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata by which a task is found by its stamps."""
    names = options.get("stamped_headers")
    return {STAMPS: {name: _listed(options.get(name)) for name in names}} if names else {}


def priority(app: Celery, step: Step, given: int | None) -> int | None:
    """Return the priority of a step: its own, else with `task_inherit_parent_priority` the one before's."""
    if step.before and app.conf.task_inherit_parent_priority and step.sig.options.get("priority") is None:
        before = step.before[-1].priority
        given = given if before is None else before
    step.priority = given
    return given


def send_with_rest(app: Celery, name: str, args: Any, kwargs: Any, task: Any, options: dict[str, Any]) -> Any:
    """Send a call that was given `chain=`, the steps after it with the last one first."""
    from river_compat.celery.canvas.chains import _chain, root_of
    from river_compat.celery.canvas.signature import Signature, maybe_signature

    rest = [maybe_signature(item, app=app, clone=True) for item in reversed(options.pop("chain"))]
    first = Signature(task or name, args, kwargs, options, app=app)
    whole = _chain([first, *rest], app=app)
    return root_of(whole.run(app=app))
