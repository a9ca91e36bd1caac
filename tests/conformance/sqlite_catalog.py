"""Read the catalog of a SQLite database in the shape of `tests/vectors/schema_sqlite.json`."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

OBJECTS = (
    "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_sequence' ORDER BY name"
)
COLUMNS = """
SELECT cid, name, type, "notnull" AS not_null, dflt_value AS "default", pk AS pk_position, hidden
FROM pragma_table_xinfo(?) ORDER BY cid
"""
FOREIGN_KEYS = """
SELECT id, seq, "table", "from", "to", on_update, on_delete, match FROM pragma_foreign_key_list(?)
"""
INDEX_LIST = 'SELECT seq, name, "unique", origin, partial FROM pragma_index_list(?) ORDER BY seq'
INDEX_COLUMNS = (
    "SELECT seqno, cid, name, desc, coll AS collation, key FROM pragma_index_xinfo(?) ORDER BY seqno"
)

CHECK = re.compile(r"(?:CONSTRAINT\s+(\w+)\s+)?CHECK\s*\(", re.IGNORECASE)
WHERE = re.compile(r"\bWHERE\b(.*)", re.IGNORECASE | re.DOTALL)
COMMENT = re.compile(r"--[^\n]*")


def sqlite_catalog(path: Path) -> dict[str, Any]:
    """Return tables, indexes, views and triggers; SQLite's own tables are left out."""
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    try:
        objects = [dict(row) for row in connection.execute(OBJECTS)]
        return {
            "tables": {
                entry["name"]: _table(connection, entry) for entry in objects if entry["type"] == "table"
            },
            "indexes": {
                entry["name"]: _index(connection, entry) for entry in objects if entry["type"] == "index"
            },
            "views": [entry["name"] for entry in objects if entry["type"] == "view"],
            "triggers": [entry["name"] for entry in objects if entry["type"] == "trigger"],
        }
    finally:
        connection.close()


def _table(connection: sqlite3.Connection, entry: dict[str, Any]) -> dict[str, Any]:
    name, text = entry["name"], COMMENT.sub("", entry["sql"])
    tail = text[text.rindex(")") :].upper()
    return {
        "columns": _rows(connection, COLUMNS, name),
        "foreign_keys": _rows(connection, FOREIGN_KEYS, name),
        "checks": list(_checks(text)),
        "without_rowid": "WITHOUT ROWID" in tail,
        "strict": "STRICT" in tail,
        "autoincrement": "AUTOINCREMENT" in text.upper(),
        "index_list": _rows(connection, INDEX_LIST, name),
    }


def _index(connection: sqlite3.Connection, entry: dict[str, Any]) -> dict[str, Any]:
    where = WHERE.search(entry["sql"] or "")
    return {
        "table": entry["tbl_name"],
        "automatic": entry["sql"] is None,
        "where": _folded(where[1]) if where else None,
        "columns": _rows(connection, INDEX_COLUMNS, entry["name"]),
    }


def _checks(text: str) -> Iterator[dict[str, Any]]:
    for match in CHECK.finditer(text):
        yield {
            "name": match[1],
            "expression": _folded(text[match.end() : _closing(text, match.end())]),
            "on_column": None if match[1] else _column_before(text[: match.start()]),
        }


def _closing(text: str, start: int) -> int:
    """Return where the parenthesis that was opened just before `start` closes."""
    depth, position = 1, start
    while depth:
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        position += 1
    return position - 1


def _column_before(text: str) -> str:
    """Return the first word of the column definition that the text ends in."""
    return text.rsplit(",", 1)[-1].split()[0]


def _folded(text: str) -> str:
    return " ".join(text.split())


def _rows(connection: sqlite3.Connection, query: str, name: str) -> list[dict[str, Any]]:
    return [dict(row) for row in connection.execute(query, (name,))]
