"""What can be done with queues, on one connection: read, list, pause, resume, change their metadata.

Each operation is one transaction, or part of the caller's. `river_core.client_queues` offers them to users.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from river_core import validation
from river_core.access import Session
from river_core.db import notifications, queues
from river_core.db.queues import ALL_QUEUES, QueueRow
from river_core.db.statement import Statement
from river_core.encoding import encode_json
from river_core.errors import NotFoundError, ValidationError


@dataclass(frozen=True, slots=True)
class QueueAdmin:
    """The operations on queues, bound to a session."""

    session: Session

    def get(self, name: str) -> QueueRow:
        """Return a queue; raises NotFoundError."""
        return self._known(name, self._fetch(queues.queue_get(self.session.sql, name)))[0]

    def page(self, limit: int) -> list[QueueRow]:
        """Return queues by name."""
        return self._fetch(queues.queue_list(self.session.sql, validation.limit(limit)))

    def names(self, after: str, match: str, exclude: Collection[str], limit: int) -> list[str]:
        """Return names of queues in order."""
        validation.texts("after and match", (after, match))
        statement = queues.queue_name_list(
            self.session.sql, after, match, validation.texts("exclude", exclude), validation.limit(limit)
        )
        return [row[0] for row in self.session.connection.fetch(statement)]

    def pause(self, name: str) -> None:
        """Pause a queue, or all for `*`, and tell the workers."""
        statement = queues.queue_pause(self.session.sql, name, self.session.now)
        self._change(statement, name, notifications.pause_payload(name))

    def resume(self, name: str) -> None:
        """Resume a queue, or all for `*`, and tell the workers."""
        statement = queues.queue_resume(self.session.sql, name, self.session.now)
        self._change(statement, name, notifications.resume_payload(name))

    def update(self, name: str, metadata: Mapping[str, Any] | None) -> QueueRow:
        """Replace a queue's metadata, unless it is None, and tell the workers."""
        text = None if metadata is None else _encoded(metadata)
        with self.session.connection.transaction():
            rows = self._fetch(queues.queue_update(self.session.sql, name, text, self.session.now))
            row = self._known(name, rows)[0]
            if text is not None:
                dialect = self.session.sql.dialect
                self._notify(notifications.metadata_changed_payload(name, text, dialect))
        return row

    def _change(self, statement: Statement, name: str, payload: str) -> None:
        with self.session.connection.transaction():
            rows = self._fetch(statement)
            if name != ALL_QUEUES:
                self._known(name, rows)
            self._notify(payload)

    def _known(self, name: str, rows: list[QueueRow]) -> list[QueueRow]:
        if not rows:
            raise NotFoundError(f"no queue {name!r} is known; a queue is known once a worker has worked it")
        return rows

    def _fetch(self, statement: Statement) -> list[QueueRow]:
        return [queues.decode_queue(row) for row in self.session.connection.fetch(statement)]

    def _notify(self, payload: str) -> None:
        statement = notifications.notify_many(self.session.sql, notifications.TOPIC_CONTROL, [payload])
        self.session.connection.fetch(statement)


def _encoded(metadata: Mapping[str, Any]) -> str:
    if not isinstance(metadata, Mapping):
        raise ValidationError(f"metadata takes a dict, and {{}} clears it, not {metadata!r}")
    text = encode_json(metadata)
    validation.json_object("metadata", text)
    return text
