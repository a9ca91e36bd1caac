"""Chords whose header is a generator, sent part by part while it runs, where `river_stream_chords` says so.

The body waits for one row more than for the parts: one that ends when the generator has. While nothing is
sent for an hour it is taken for dead, and the body fails.
"""

from __future__ import annotations

import time
import uuid
from datetime import UTC, datetime
from typing import Any

from river_compat.celery import outgoing
from river_compat.celery.canvas.chains import root_of
from river_compat.celery.canvas.chord_body import frozen_body
from river_compat.celery.canvas.ends import with_one_end
from river_compat.celery.canvas.groups import flat_members
from river_compat.celery.canvas.launching import note_child, send_steps
from river_compat.celery.canvas.lazy import Lazy
from river_compat.celery.canvas.options import NOT_OF_BODY, OF_HEADER, given, without
from river_compat.celery.canvas.plan import Ends, Plan, Start, Step
from river_compat.celery.exceptions import ChordError
from river_compat.celery.outgoing import Batch
from river_compat.celery.sending import flush
from river_compat.celery.waiting_step import CHORD_PARTS_TASK
from river_core import task_rows
from river_core.errors import JobSnoozeError
from river_core.job import JobState
from river_core.links import Feed, feeds_of, members_of

STALE_SECONDS = 3600.0
"""A generator that has sent nothing for so long is taken for dead."""
PAUSE_SECONDS = 0.1
"""Parts that come faster than this are written together, with the first that comes later."""
MOST_ROWS = 500


def applies(app: Any, tasks: Any) -> bool:
    """Whether a header is sent as it comes: a generator, outside of any transaction."""
    if not app.conf.river_stream_chords or not isinstance(tasks, Lazy) or tasks.is_consumed:
        return False
    if outgoing.current() is not None:
        return False
    return app.conf.river_enqueue_in == "own" or app.runtime.driver.open_transaction() is None


def send(app: Any, chord: Any, body: Any, start: Start, task_id: str | None) -> Any:
    """Send the body, then part after part; return the body's result, whose parent is the header's.

    What the generator raises ends the body as revoked, and is raised.
    """
    options = dict(start.options)
    group_id = str(uuid.uuid4())
    add_to_parent = options.pop("add_to_parent", True)
    held = {name: options.pop(name) for name in OF_HEADER if name in options}
    body, result = frozen_body(body, options, task_id, group_id)
    options = given(options)
    stream = _Stream(app, body, Start(options=options))
    parts = Start(start.args, start.kwargs, {**options, **held})
    try:
        found = [stream.send(item, index, group_id, parts) for index, item in _members(chord, app)]
        stream.flush()
    except BaseException:
        stream.break_off()
        raise
    stream.close()
    header = app.GroupResult(group_id, found)
    root_of(result).parent = header
    if add_to_parent:
        note_child(header)
    return result


def _members(chord: Any, app: Any) -> Any:
    return enumerate(with_one_end(item, app) for item in flat_members(chord.tasks, app))


class _Stream:
    """A chord that is being sent: the rows that wait for its parts, and those that were not written yet."""

    def __init__(self, app: Any, body: Any, start: Start) -> None:
        """Write the body, and the row that it waits for as long as parts may come."""
        self._app, self._body = app, body
        self._sentinel = app.tasks[CHORD_PARTS_TASK].si().set(countdown=STALE_SECONDS)
        self._sentinel.freeze()
        batch = Batch()
        plan = Plan(batch)
        ends = plan.add(self._sentinel, None, Start())
        of_body = without(start.options, NOT_OF_BODY)
        plan.add(
            body,
            Ends(ends.steps, True, of_chord=True, shape=[-1]),
            Start(options=of_body),
        )
        send_steps(plan, batch, app)
        flush(app, batch)
        self._first: list[Step] = [step for step in plan.steps if step.before == ends.steps]
        self._batch, self._written = Batch(), -PAUSE_SECONDS

    def send(self, sig: Any, index: int, group_id: str, start: Start) -> Any:
        """Send one part, with those that came shortly before it; return its result."""
        result = sig.freeze(
            group_id=group_id, chord=self._body, root_id=start.options.get("root_id"), group_index=index
        )
        plan = Plan(self._batch)
        for step in plan.add(sig, None, start, group_id).steps:
            step.feeds.extend(Feed(first.sig.frozen.awaited_row) for first in self._first)
            step.body = self._first[0]
        send_steps(plan, self._batch, self._app)
        if len(self._batch.items) >= MOST_ROWS or time.monotonic() - self._written >= PAUSE_SECONDS:
            self.flush()
        return result

    def flush(self) -> None:
        """Write the parts that are there."""
        batch, self._batch = self._batch, Batch()
        flush(self._app, batch)
        self._written = time.monotonic()

    def close(self) -> None:
        """Let the body run when the parts that were sent have ended."""
        from river_compat.celery.revoking import end_sentinel

        end_sentinel(self._app, self._sentinel.id)

    def break_off(self) -> None:
        """Let the body fail: not all of its parts were sent."""
        from river_compat.celery.revoking import revoke

        revoke(self._app, [self._sentinel.id], None)


def watch_parts(app: Any, row: Any) -> None:
    """Look, as the row that ends with the generator, whether parts still come.

    Raises ChordError when none has for an hour, JobSnoozeError to look again.
    """
    driver = app.runtime.driver
    waiting = [task_rows.get_row(driver, target) for target, _ in feeds_of(row.metadata)]
    still = [item for item in waiting if item is not None and item.state is JobState.PENDING]
    if not still:
        return
    last = task_rows.get_row(driver, members_of(still[0].metadata)[-1]) or row
    silent = (datetime.now(UTC) - last.created_at).total_seconds()
    if silent >= STALE_SECONDS:
        raise ChordError(f"no part of the chord was sent for {silent:.0f} s: its sender has stopped")
    raise JobSnoozeError(STALE_SECONDS - silent)
