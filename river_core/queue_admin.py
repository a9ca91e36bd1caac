"""What can be done with queues: read, list, pause, resume, change their metadata; and with their leader.

`river_core.client_queues` offers these actions to users, `river_core.aio_queues` to coroutines.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from river_core import steps, validation
from river_core.actions import Setting, one_statement, one_transaction
from river_core.db import notifications, queues
from river_core.db.queues import ALL_QUEUES, QueueRow
from river_core.db.statement import Statement
from river_core.drivers.base import Row
from river_core.encoding import encode_json
from river_core.errors import NotFoundError, ValidationError
from river_core.steps import Steps


@one_statement
def get(setting: Setting, name: str) -> Steps[QueueRow]:
    """Return a queue; raises NotFoundError."""
    return _known(name, (yield queues.queue_get(setting.sql, name)))[0]


@one_statement
def page(setting: Setting, limit: int) -> Steps[list[QueueRow]]:
    """Return queues by name."""
    rows = yield queues.queue_list(setting.sql, validation.limit(limit))
    return [queues.decode_queue(row) for row in rows]


@one_statement
def names(setting: Setting, after: str, match: str, exclude: Collection[str], limit: int) -> Steps[list[str]]:
    """Return names of queues in order."""
    validation.texts("after and match", (after, match))
    rows = yield queues.queue_name_list(
        setting.sql, after, match, validation.texts("exclude", exclude), validation.limit(limit)
    )
    return [row[0] for row in rows]


@one_transaction
def pause(setting: Setting, name: str) -> Steps[None]:
    """Pause a queue, or all for `*`, and tell the workers."""
    statement = queues.queue_pause(setting.sql, name, setting.now)
    yield from _change(setting, statement, name, notifications.pause_payload(name))


@one_transaction
def resume(setting: Setting, name: str) -> Steps[None]:
    """Resume a queue, or all for `*`, and tell the workers."""
    statement = queues.queue_resume(setting.sql, name, setting.now)
    yield from _change(setting, statement, name, notifications.resume_payload(name))


@one_transaction
def update(setting: Setting, name: str, metadata: Mapping[str, Any] | None) -> Steps[QueueRow]:
    """Replace a queue's metadata, unless it is None, and tell the workers."""
    text = None if metadata is None else _encoded(metadata)
    row = _known(name, (yield queues.queue_update(setting.sql, name, text, setting.now)))[0]
    if text is not None:
        dialect = setting.sql.dialect
        yield _message(setting, notifications.metadata_changed_payload(name, text, dialect))
    return row


@one_statement
def request_resign(setting: Setting) -> Steps[None]:
    """Ask whoever leads to step down."""
    yield from steps.request_resign(setting.sql)


def _change(setting: Setting, statement: Statement, name: str, payload: str) -> Steps[None]:
    rows = yield statement
    if name != ALL_QUEUES:
        _known(name, rows)
    yield _message(setting, payload)


def _known(name: str, rows: Sequence[Row]) -> list[QueueRow]:
    if not rows:
        raise NotFoundError(f"no queue {name!r} is known; a queue is known once a worker has worked it")
    return [queues.decode_queue(row) for row in rows]


def _message(setting: Setting, payload: str) -> Statement:
    return notifications.notify_many(setting.sql, notifications.TOPIC_CONTROL, [payload])


def _encoded(metadata: Mapping[str, Any]) -> str:
    if not isinstance(metadata, Mapping):
        raise ValidationError(f"metadata takes a dict, and {{}} clears it, not {metadata!r}")
    text = encode_json(metadata)
    validation.json_object("metadata", text)
    return text
