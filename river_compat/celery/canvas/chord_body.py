"""What the body of a chord gets: its options, its callbacks and errbacks.

Of a body that is a group, each task gets the errbacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from river_compat.celery.canvas import algebra
from river_compat.celery.canvas.linking import linked
from river_compat.celery.canvas.options import without
from river_compat.celery.canvas.signature import maybe_signature
from river_compat.celery.workflow_calls import is_stored_chord


def with_links(body: Any, options: dict[str, Any]) -> Any:
    """Take `link` and `link_error` out of a chord's options and put them on its body.

    The body is copied for that, down to what `link()` would change. A group gets errbacks on each of its
    tasks, or with its own where it has an option of that name.
    """
    callbacks = linked(options.pop("link", None))
    errbacks = linked(options.pop("link_error", None))
    if callbacks or errbacks:
        body = _deep_copy(body)
        link_body(body, callbacks, errbacks)
    return body


def link_body(body: Any, callbacks: Iterable[Any], errbacks: Iterable[Any]) -> None:
    """Put callbacks and errbacks on the body of a chord."""
    for item in callbacks:
        callback = _deep_copy(maybe_signature(item, app=body._app))
        if algebra.is_group(body) and not body.tasks:
            body.append_to_list_option("link", callback)
        else:
            body.link(callback)
    for item in errbacks:
        if algebra.is_group(body):
            link_members(body, maybe_signature(item, app=body._app), as_group=True)
        else:
            body.append_to_list_option("link_error", item)


def _deep_copy(sig: Any) -> Any:
    copy = maybe_signature(sig, clone=True)
    if algebra.is_group(copy):
        copy.tasks = [_deep_copy(task) for task in copy.tasks]
    elif algebra.is_chord(copy):
        copy.body = _deep_copy(copy.body)
    return copy


def link_members(sig: Any, errback: Any, as_group: bool) -> None:
    if algebra.is_chord(sig):
        link_members(sig.body, errback, as_group=True)
    elif not algebra.is_group(sig):
        sig.link_error(errback.clone())
    elif as_group and sig.options.get("link_error") is not None:
        sig.append_to_list_option("link_error", errback.clone())
    else:
        for task in sig.tasks:
            link_members(task, errback, as_group=False)


def frozen_body(body: Any, options: dict[str, Any], task_id: str | None, group_id: str) -> tuple[Any, Any]:
    """Return a body with the chord's links and options, frozen, and its result.

    What the header is not sent with is taken out of `options`.
    """
    body = with_links(body, options)
    joined = options.pop("chord", None)
    for name in ("task_id", "chain"):
        options.pop(name, None)
    body.options.pop("chord", None)
    body.options.update(for_body(options))
    outer = joined if is_stored_chord(joined) else None
    root_id = body.options.get("root_id")
    return body, body.freeze(task_id, group_id=group_id, chord=outer, root_id=root_id)


def for_body(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of a chord that go to its body, too; its parent is the task that sets it off."""
    return without(options, ("parent_id", "add_to_parent"))
