"""Statements on standing rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from river_core.db.statement import Sql, Statement

KIND = "python_state"
ALL_STATES = 255


def key_bytes(key: str) -> bytes:
    """Return the unique key of a standing row: that of River for its kind and arguments."""
    return hashlib.sha256(f"&kind={KIND}&args={{{json.dumps('key')}:{json.dumps(key)}}}".encode()).digest()


def standing_put(sql: Sql, key: str, value: str, seconds: float | None) -> Statement:
    """Write the row of a key, for so many seconds; None is without end. Returns its id."""
    return _write(sql, "standing_put", key, value, seconds)


def standing_add(sql: Sql, key: str, value: str, seconds: float | None) -> Statement:
    """Write the row of a key unless there is one. Returns its id."""
    return _write(sql, "standing_add", key, value, seconds)


def _write(sql: Sql, name: str, key: str, value: str, seconds: float | None) -> Statement:
    return sql.statement(
        name,
        key=key,
        value=value,
        seconds=seconds,
        unique_key=key_bytes(key),
        unique_states=ALL_STATES,
    )


def standing_get_many(sql: Sql, keys: Iterable[str]) -> Statement:
    """Read the rows of these keys: id, key and value."""
    return sql.statement("standing_get_many", unique_keys=json.dumps([key_bytes(key).hex() for key in keys]))


def standing_list(sql: Sql, prefix: str) -> Statement:
    """Read the rows whose keys begin so: id, key and value."""
    return sql.statement("standing_list", prefix=prefix)


def standing_delete_many(sql: Sql, ids: Iterable[int]) -> Statement:
    """Delete rows by their ids; returns the ids of those that were there."""
    return sql.statement("standing_delete_many", ids=json.dumps(list(ids)))


def standing_delete_expired(sql: Sql) -> Statement:
    """Delete the rows whose time has run out; returns their ids."""
    return sql.statement("standing_delete_expired")


def standing_lock(sql: Sql, key: str) -> Statement:
    """Lock and read the row of a key: id, value, and the database's time in seconds since the epoch."""
    return sql.statement("standing_lock", unique_key=key_bytes(key))
