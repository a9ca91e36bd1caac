"""Inserts jobs that wait for each other, all or none, as steps."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from river_core.db import jobs, linked
from river_core.db.linked import WaitingChange
from river_core.db.statement import Sql
from river_core.errors import JobRowDecodeError, ValidationError
from river_core.insert import InsertParams, InsertResult
from river_core.job import JobRow, JobState
from river_core.json_text import merge_objects
from river_core.links import (
    DELAY,
    FEEDS,
    MEMBERS,
    Feed,
    LinkError,
    Links,
    feeds_text,
    members_of,
    members_text,
)
from river_core.steps import Steps

_NONE = Links()


def has_links(rows: Sequence[InsertParams]) -> bool:
    """Tell whether any of the rows hangs together with another."""
    return any(row.links is not None for row in rows)


def insert_linked(sql: Sql, rows: Sequence[InsertParams]) -> Steps[list[InsertResult]]:
    """Give the statements that insert the rows, which must run in one transaction.

    Raises ValidationError for links that lead nowhere; then nothing is written.
    """
    members = _members(rows)
    yield linked.job_take_write_lock(sql)
    reserved = yield linked.job_reserve_ids(sql, len(rows))
    ids = sorted(row[0] for row in reserved)
    named: dict[str, int] = {
        row.links.name: ids[at] for at, row in enumerate(rows) if row.links and row.links.name
    }
    joined = yield from _join_stored(sql, rows, ids)
    ready = []
    for at, row in enumerate(rows):
        links = row.links or _NONE
        feeds = [_resolved(feed, named, joined[at]) for feed in links.feeds]
        waits_for = [ids[member] for member in members.get(links.name or "", ())]
        ready.append((ids[at], _with_links(row, links, [feed for feed in feeds if feed], waits_for)))
    fetched = yield linked.job_insert_linked(sql, ready)
    found = {row[0]: jobs.decode_job(sql, row) for row in fetched}
    return [InsertResult(found[job_id]) for job_id in ids]


def _members(rows: Sequence[InsertParams]) -> dict[str, list[int]]:
    """Return, for each waiting row of the batch, the positions of its members by index."""
    found: dict[str, dict[int, int]] = {}
    for row in rows:
        _check(row)
        if row.links is not None and row.links.name is not None:
            if row.links.name in found:
                raise ValidationError(f"two waiting jobs of the batch have the name {row.links.name!r}")
            found[row.links.name] = {}
    for at, row in enumerate(rows):
        for feed in row.links.feeds if row.links is not None else ():
            if isinstance(feed.target, str):
                _note(found, feed, at)
    return {name: _in_order(name, places) for name, places in found.items()}


def _check(row: InsertParams) -> None:
    if row.links is not None and row.unique_key is not None:
        raise ValidationError("a job that waits or is waited for cannot be unique")
    if row.links is not None and row.links.name is not None and row.state is not JobState.PENDING:
        raise ValidationError(f"the waiting job {row.links.name!r} must be pending, not {row.state.value}")


def _note(found: dict[str, dict[int, int]], feed: Feed, at: int) -> None:
    places = found.get(str(feed.target))
    if places is None:
        raise ValidationError(f"no waiting job {feed.target!r} is in the batch")
    if feed.index is None or feed.index in places:
        raise ValidationError(
            f"index {feed.index} of the waiting job {feed.target!r} is missing or given twice"
        )
    places[feed.index] = at


def _in_order(name: str, places: dict[int, int]) -> list[int]:
    if not places or sorted(places) != list(range(len(places))):
        raise ValidationError(f"the waiting job {name!r} needs members with all indexes from 0 on")
    return [places[index] for index in range(len(places))]


def _join_stored(
    sql: Sql, rows: Sequence[InsertParams], ids: Sequence[int]
) -> Steps[list[dict[int, int | None]]]:
    """Let stored rows wait for those of the batch that come in addition; return the new indexes by row.

    A stored row that waits no more gives no index: nothing is handed over then.
    """
    joined: list[dict[int, int | None]] = [{} for _ in rows]
    wanted: dict[int, list[int]] = defaultdict(list)
    for at, row in enumerate(rows):
        for feed in row.links.feeds if row.links is not None else ():
            if isinstance(feed.target, int) and feed.index is None:
                wanted[feed.target].append(at)
                joined[at][feed.target] = None
    if not wanted:
        return joined
    fetched = yield linked.job_lock_feedable_many(sql, wanted)
    changes = []
    for waiting in (jobs.decode_job(sql, row) for row in fetched):
        if waiting.state is not JobState.PENDING:
            continue
        try:
            known = members_of(waiting.metadata)
        except (JobRowDecodeError, LinkError):
            continue  # a stranger's row; the sweep ends it
        for index, at in enumerate(wanted[waiting.id], len(known)):
            joined[at][waiting.id] = index
        changes.append(_wider(waiting, [*known, *(ids[at] for at in wanted[waiting.id])]))
    if changes:
        yield linked.job_feed_many(sql, changes)
    return joined


def _wider(waiting: JobRow, members: Sequence[int]) -> WaitingChange:
    return WaitingChange(waiting.id, JobState.PENDING, {MEMBERS: members_text(members)})


def _resolved(feed: Feed, named: Mapping[str, int], joined: dict[int, int | None]) -> tuple[int, int] | None:
    target = named[feed.target] if isinstance(feed.target, str) else feed.target
    index = feed.index if feed.index is not None else joined.get(target)
    return None if index is None else (target, index)


def _with_links(
    row: InsertParams, links: Links, feeds: Sequence[tuple[int, int]], members: Sequence[int]
) -> InsertParams:
    extra: dict[str, object] = {}
    if feeds:
        extra[FEEDS] = feeds_text(feeds)
    if members:
        extra[MEMBERS] = members_text(members)
    if links.delay:
        extra[DELAY] = links.delay
    if not extra:
        return row
    return replace(row, encoded_metadata=merge_objects(row.encoded_metadata, json.dumps(extra)))
