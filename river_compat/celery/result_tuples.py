"""Results as values: tuples of ids, which any serializer takes, and back (`result_from_tuple`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from river_compat.celery import _state
from river_compat.celery.result_base import ResultBase

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery


def result_from_tuple(r: Any, app: Celery | None = None) -> Any:
    """Return the result that `as_tuple` has described; a result is returned as it is.

    The result belongs to `app`, or to the current application.
    """
    if isinstance(r, ResultBase):
        return r
    app = app or _state.get_current_app()
    identity, members = r
    task_id, parent = identity if isinstance(identity, list | tuple) else (identity, None)
    above = result_from_tuple(parent, app) if parent else None
    if members is None:
        return app.AsyncResult(task_id, parent=above)
    return app.GroupResult(task_id, [result_from_tuple(member, app) for member in members], parent=above)


def prepared(value: Any, serializer: str) -> Any:
    """Return what is stored of a task's return value: of a result its tuple, unless it can be pickled."""
    if isinstance(value, ResultBase) and serializer != "pickle":
        return value.as_tuple()
    return value


def children_text(children: Iterable[Any], described: Iterable[Any] = ()) -> str | None:
    """Return what is stored of the results of the tasks that a task has sent; None for none.

    `described` are more of them, as `short` returned them. One text, so that a group of thousands is one
    entry of River's index. Most are plain ids.
    """
    stored = [short(child) for child in children]
    stored.extend(described)
    return json.dumps(stored, separators=(",", ":")) if stored else None


def short(result: Any) -> Any:
    """Return the id of a plain result, the tuple of any other."""
    described = result.as_tuple()
    (task_id, parent), members = described
    return task_id if parent is None and members is None else described


def read_children(stored: Any, app: Celery) -> list[Any] | None:
    """Return the results of which `children_text` has stored the ids; None for none."""
    described: Sequence[Any] = json.loads(stored) if isinstance(stored, str) else stored or ()
    results = [
        app.AsyncResult(child) if isinstance(child, str) else result_from_tuple(child, app)
        for child in described
    ]
    return results or None
