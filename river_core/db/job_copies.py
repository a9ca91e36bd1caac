"""COPY statements that insert jobs, and the lines that they read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, repeat

from river_core.db.job_inserts import with_nonce
from river_core.db.statement import Sql, Statement
from river_core.insert import InsertParams


def job_copies(sql: Sql, rows: Iterable[InsertParams], nonces: Sequence[str]) -> list[Statement]:
    """Return the COPY statements for these rows (River: JobInsertFastManyCopyFrom), one in most cases.

    A COPY gives a column to all of its rows or to none, so rows with times of their own have another one.
    """
    lines: dict[str, list[str]] = {}
    for row, nonce in zip(rows, nonces or repeat(None), strict=False):
        name, times = _times(sql, row)
        lines.setdefault(name, []).append(_line(row, nonce, times))
    return [Statement(name, sql.statement(name).sql, {}, data="".join(of)) for name, of in lines.items()]


def _times(sql: Sql, row: InsertParams) -> tuple[str, Iterable[str]]:
    scheduled_at, created_at = sql.time(row.scheduled_at), sql.time(row.created_at)
    if scheduled_at is None:
        return ("copy_jobs", ()) if created_at is None else ("copy_jobs_created", (created_at,))
    if created_at is None:
        return "copy_jobs_scheduled", (scheduled_at,)
    return "copy_jobs_timed", (scheduled_at, created_at)


def _line(row: InsertParams, nonce: str | None, times: Iterable[str]) -> str:
    fields = (
        _copied(row.encoded_args),
        _copied(row.kind),
        str(row.max_attempts),
        _copied(with_nonce(row.encoded_metadata, nonce)),
        str(row.priority),
        _copied(row.queue),
        row.state.value,
        _tags(row.tags),
        "\\N" if row.unique_key is None else f"\\\\x{row.unique_key.hex()}",
        "\\N" if row.unique_states is None else f"{row.unique_states:08b}",
    )
    return "\t".join(chain(fields, times)) + "\n"


def _tags(tags: Sequence[str]) -> str:
    """Return an array's text; tags hold nothing that needs more than quotes."""
    return "{" + ",".join(f'"{tag}"' for tag in tags) + "}" if tags else "{}"


def _copied(text: str) -> str:
    """Return a value as COPY reads it back."""
    if "\\" in text:
        text = text.replace("\\", "\\\\")
    if "\n" in text or "\t" in text or "\r" in text:
        text = text.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    return text
