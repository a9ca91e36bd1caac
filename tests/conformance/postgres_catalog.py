"""Read the catalog of one Postgres schema in the shape of `tests/vectors/schema_postgres.json`."""

from __future__ import annotations

import json
import re
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

TABLES = """
SELECT relname AS name, CASE relpersistence WHEN 'u' THEN 'unlogged' ELSE 'permanent' END AS persistence,
    reloptions AS options
FROM pg_class WHERE relnamespace = %(schema)s::regnamespace AND relkind IN ('r', 'p')
"""
COLUMNS = """
SELECT relname AS table_name, attname AS name, format_type(atttypid, atttypmod) AS type,
    attnotnull AS not_null, pg_get_expr(adbin, adrelid) AS default
FROM pg_attribute
JOIN pg_class ON pg_class.oid = attrelid
LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE relnamespace = %(schema)s::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
ORDER BY attnum
"""
CONSTRAINTS = """
SELECT relname AS table_name, conname AS name, contype::text AS type,
    pg_get_constraintdef(pg_constraint.oid) AS definition, convalidated AS validated
FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
WHERE relnamespace = %(schema)s::regnamespace AND contype IN ('c', 'p', 'u', 'f')
"""
INDEXES = """
SELECT tables.relname AS table_name, indexes.relname AS name, pg_get_indexdef(indexrelid) AS definition,
    indisunique AS unique, indisprimary AS primary, indisvalid AS valid
FROM pg_index
JOIN pg_class AS indexes ON indexes.oid = indexrelid
JOIN pg_class AS tables ON tables.oid = indrelid
WHERE tables.relnamespace = %(schema)s::regnamespace AND tables.relkind = 'r'
"""
TRIGGERS = """
SELECT relname AS table_name, tgname AS name, pg_get_triggerdef(pg_trigger.oid) AS definition
FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
WHERE relnamespace = %(schema)s::regnamespace AND NOT tgisinternal
"""
SEQUENCES = """
SELECT relname AS name, format_type(seqtypid, NULL) AS type, seqstart AS start, seqincrement AS increment,
    (SELECT refobjid::regclass::text || '.' || attname FROM pg_depend
        JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
        WHERE objid = pg_class.oid AND deptype = 'a') AS owned_by,
    relpersistence::text AS persistence
FROM pg_sequence JOIN pg_class ON pg_class.oid = seqrelid
WHERE relnamespace = %(schema)s::regnamespace
"""
ENUMS = """
SELECT typname AS name, array_agg(enumlabel::text ORDER BY enumsortorder) AS labels
FROM pg_enum JOIN pg_type ON pg_type.oid = enumtypid
WHERE typnamespace = %(schema)s::regnamespace
GROUP BY typname
"""
FUNCTIONS = """
SELECT proname AS name, pg_get_function_identity_arguments(pg_proc.oid) AS args,
    pg_get_function_result(pg_proc.oid) AS returns, lanname AS language,
    CASE provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END AS volatility,
    proisstrict AS strict, proparallel::text AS parallel,
    CASE prokind WHEN 'f' THEN 'function' ELSE prokind::text END AS kind
FROM pg_proc JOIN pg_language ON pg_language.oid = prolang
WHERE pronamespace = %(schema)s::regnamespace
"""
VIEWS = """
SELECT relname AS name FROM pg_class
WHERE relnamespace = %(schema)s::regnamespace AND relkind IN ('v', 'm')
"""

PARTS = {"columns": COLUMNS, "constraints": CONSTRAINTS, "indexes": INDEXES, "triggers": TRIGGERS}


def postgres_catalog(url: str, schema: str) -> dict[str, Any]:
    """Return tables, sequences, enums, functions and views; definitions call the schema `public`."""
    with psycopg.connect(url, row_factory=dict_row) as connection:
        name = _as_printed(connection, schema)
        connection.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(schema)))
        fetched = {part: _rows(connection, query, name) for part, query in PARTS.items()}
        tables = {
            table["name"]: {
                "persistence": table["persistence"],
                "options": table["options"],
                **{part: _of_table(table["name"], rows) for part, rows in fetched.items()},
            }
            for table in _rows(connection, TABLES, name)
        }
        return {
            "tables": tables,
            "sequences": _rows(connection, SEQUENCES, name),
            "enums": {row["name"]: row["labels"] for row in _rows(connection, ENUMS, name)},
            "functions": _rows(connection, FUNCTIONS, name),
            "views": _rows(connection, VIEWS, name),
        }


def without_key_names(catalog: dict[str, Any]) -> dict[str, Any]:
    """Give river_migration's primary key its plain name: Postgres numbers it by what existed meanwhile."""
    plain: dict[str, Any] = json.loads(
        re.sub(r"\briver_migration_pkey\d+\b", "river_migration_pkey", json.dumps(catalog))
    )
    return plain


def _as_printed(connection: psycopg.Connection[Any], schema: str) -> str:
    """Return the name with quotes only where it needs them, as Postgres itself writes it."""
    row = connection.execute("SELECT quote_ident(%s) AS name", (schema,)).fetchone()
    assert row is not None
    return str(row["name"])


def _rows(connection: psycopg.Connection[Any], query: str, schema: str) -> list[dict[str, Any]]:
    rows = connection.execute(query, {"schema": schema}).fetchall()
    for row in rows:
        if "definition" in row:
            row["definition"] = row["definition"].replace(f" {schema}.", " public.")
    return rows


def _of_table(table: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in row.items() if key != "table_name"}
        for row in rows
        if row["table_name"] == table
    ]
