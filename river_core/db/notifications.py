"""Statements that send notifications (River: PGNotifyMany)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from river_core.db.statement import Dialect, Sql, Statement
from river_core.encoding import encode_json

TOPIC_INSERT = "river_insert"
TOPIC_CONTROL = "river_control"
TOPIC_LEADERSHIP = "river_leadership"
TOPIC_DONE = "river_python_done"
MAX_POSTGRES_PAYLOAD_BYTES = 7999


def notify_many(sql: Sql, topic: str, payloads: Sequence[str]) -> Statement:
    """Send texts on a bare topic: on Postgres by pg_notify at commit, on SQLite as rows of the outbox."""
    return sql.statement(
        "notify_many", topic=topic, payloads=json.dumps(list(payloads)), schema=sql.schema or None
    )


def insert_payload(queue: str) -> str:
    """Return what `river_insert` says when jobs became available in a queue."""
    return json.dumps({"queue": queue}, separators=(",", ":"), ensure_ascii=False)


def cancel_payload(job_id: int, queue: str) -> str:
    """Return what `river_control` says when a job is to be cancelled where it runs."""
    return _message(action="cancel", job_id=job_id, queue=queue)


def pause_payload(queue: str) -> str:
    """Return what `river_control` says when a queue, or `*`, was paused."""
    return _message(action="pause", queue=queue)


def resume_payload(queue: str) -> str:
    """Return what `river_control` says when a queue, or `*`, was resumed."""
    return _message(action="resume", queue=queue)


def metadata_changed_payload(queue: str, metadata: str, dialect: Dialect) -> str:
    """Return what `river_control` says when the metadata of a queue, JSON text, was replaced.

    What Postgres could not send goes without the metadata; receivers then read the queue's row.
    """
    text = f'{{"action":"metadata_changed","metadata":{metadata},"queue":{encode_json(queue)}}}'
    if dialect is Dialect.POSTGRES and len(text.encode()) > MAX_POSTGRES_PAYLOAD_BYTES:
        return _message(action="metadata_changed", queue=queue)
    return text


def request_resign_payload() -> str:
    """Return what `river_leadership` says when whoever leads is to step down."""
    return _message(leader_id="", action="request_resign")


def resigned_payload(leader_id: str) -> str:
    """Return what `river_leadership` says when a leader has given up its term."""
    return _message(leader_id=leader_id, action="resigned")


def _message(**fields: str | int) -> str:
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
