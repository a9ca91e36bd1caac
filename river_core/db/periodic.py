"""Statements that remember, in one standing row for each periodic job, up to when its runs are settled.

A standing row is a `pending` job of the reserved kind `python_state`, which nobody works and no cleaner
deletes. It is found by its unique key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from river_core.db.statement import Sql, Statement


def periodic_get_settled(sql: Sql, ids: Iterable[str]) -> Statement:
    """Read id and settled time, by `decode_settled`, of the periodic jobs that have a standing row."""
    return sql.statement("periodic_get_settled", ids=json.dumps(list(ids)))


def periodic_settle(sql: Sql, until: Mapping[str, datetime], now: datetime | None = None) -> Statement:
    """Settle the runs of each id up to a time; returns the ids that were not settled so far before."""
    marks = [{"id": name, "settled_at": encode_settled(until[name])} for name in sorted(until)]
    return sql.statement("periodic_settle", marks=json.dumps(marks), now=sql.time(now))


def periodic_get_newest(sql: Sql, periodic_id: str) -> Statement:
    """Read when the newest row of a periodic job was made, by a client of any language; NULL for none."""
    return sql.statement("periodic_get_newest", id=periodic_id)


def encode_settled(moment: datetime) -> str:
    """Return UTC in a form of one length, so that the database can compare it as text."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def decode_settled(text: str | None) -> datetime | None:
    """Return an aware time, or None for what is none."""
    try:
        moment = datetime.fromisoformat(text or "")
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo else None
