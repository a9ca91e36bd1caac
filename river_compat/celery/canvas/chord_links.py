"""Callbacks and errbacks of a chord: they go to its body, and errbacks to each task of a group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from river_compat.celery.canvas import algebra
from river_compat.celery.canvas.signature import linked, maybe_signature

OF_LINKS = ("link", "link_error")


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
