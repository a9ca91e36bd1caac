"""The row and the bare statements of the benchmarks: one size, and one row by every way in."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from benchmarks.row import (
    ENVELOPE_BYTES,
    QUEUE,
    bare,
    bare_columns,
    copy_rows,
    envelope,
    noop_parameters,
    noop_row,
)
from river_core import Client, InsertParams
from river_core.drivers.psycopg import PsycopgDriver

pytestmark = pytest.mark.postgres

Cursor = psycopg.Cursor[Any]
ROWS = "SELECT to_jsonb(river_job) - '{id,created_at,scheduled_at}'::text[] FROM river_job ORDER BY id"


def by_insert(cursor: Cursor, rows: list[InsertParams]) -> None:
    for row in rows:
        cursor.execute(bare("insert"), noop_parameters(row))


def by_unnest(cursor: Cursor, rows: list[InsertParams]) -> None:
    cursor.execute(bare("insert_unnest"), bare_columns(rows))


def test_every_envelope_has_the_stated_size() -> None:
    assert {len(envelope(str(uuid.uuid4()))) for _ in range(10)} == {ENVELOPE_BYTES}


@pytest.mark.parametrize("insert", [by_insert, by_unnest, copy_rows])
def test_a_bare_statement_writes_the_row_that_the_product_writes(
    insert: Callable[[Cursor, list[InsertParams]], None], postgres_driver: PsycopgDriver, postgres_url: str
) -> None:
    rows = [noop_row(), noop_row()]
    Client(postgres_driver).insert_params(rows)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        cursor = connection.cursor()
        ours = cursor.execute(ROWS).fetchall()
        cursor.execute("DELETE FROM river_job")
        insert(cursor, rows)
        assert cursor.execute(ROWS).fetchall() == ours
        assert ours[0] != ours[1]


def test_the_bare_worker_statements_claim_and_complete(
    postgres_driver: PsycopgDriver, postgres_url: str
) -> None:
    Client(postgres_driver).insert_params([noop_row(), noop_row()])
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for statement in ("complete", "complete_with_output"):
            claimed = connection.execute(
                bare("fetch"), {"client_id": "bare", "queue": QUEUE, "limit": 1}
            ).fetchall()
            assert [row[4] for row in claimed] == [1]
            connection.execute(bare(statement), {"ids": [row[0] for row in claimed]})
        states = connection.execute("SELECT DISTINCT state::text FROM river_job").fetchall()
        assert states == [("completed",)]
