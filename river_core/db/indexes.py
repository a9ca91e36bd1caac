"""Statements that look after River's indexes; names of indexes become part of their text, quoted."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import replace

from river_core.db.statement import Sql, Statement

_PLACEHOLDER = '"the index"'


def index_get_existing(sql: Sql, names: Iterable[str]) -> Statement:
    """Read which of `names` exist (River: IndexesExist)."""
    return sql.statement("index_get_existing", names=json.dumps(list(names)), schema=sql.schema or None)


def index_get_artifacts(sql: Sql, name: str) -> Statement:
    """Read what an unfinished rebuild of an index has left (River: IndexReindexArtifacts)."""
    return sql.statement("index_get_artifacts", name=name, schema=sql.schema or None)


def index_rebuild(sql: Sql, name: str) -> Statement:
    """Rebuild an index (River: IndexReindex); the text of each statement is its own, for `index_cancel`."""
    return _named(sql.statement("index_rebuild"), name)


def index_drop(sql: Sql, name: str) -> Statement:
    """Drop an index if it exists (River: IndexDropIfExists)."""
    return _named(sql.statement("index_drop"), name)


def index_cancel(sql: Sql, statement: Statement) -> Statement:
    """End a rebuild or drop that runs in another session; nothing on SQLite."""
    return sql.statement("index_cancel", statement=statement.sql)


def _named(statement: Statement, name: str) -> Statement:
    quoted = '"' + name.replace('"', '""') + '"'
    text = statement.sql.replace(_PLACEHOLDER, quoted)
    return replace(statement, sql=f"{text} /* {secrets.token_hex(8)} */", transactional=False)
