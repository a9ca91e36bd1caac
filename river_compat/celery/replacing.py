"""Rows that take the place of a task that runs."""

from __future__ import annotations

from dataclasses import replace

from river_compat.celery.exceptions import ImproperlyConfigured
from river_compat.celery.outgoing import Batch, rows_written_later
from river_compat.celery.request import Context
from river_compat.celery.successor import links_of
from river_compat.results import RETRY_ID
from river_core.links import Links
from river_core.outcome import FollowUp

REPLACEMENT = "_replacement"
"""In a request: the rows that were put in its task's place."""


def replacement_rows(batch: Batch, request: Context) -> tuple[FollowUp, ...]:
    """Return the rows of a batch as what follows a request's task.

    The one with the request's id is what handles and waiting rows go on with. Raises ImproperlyConfigured
    where there is none.
    """
    at = next((n for n, item in enumerate(batch.items) if item.task_id == request.id), None)
    if at is None:
        raise ImproperlyConfigured("what replaces a task must end in one task")
    feeds = links_of(request)
    rows = list(rows_written_later(batch))
    last = batch.items[at].row
    if feeds is not None:
        own = last.links or Links()
        last = replace(last, links=replace(own, feeds=(*own.feeds, *feeds.feeds)))
    rows[at] = FollowUp(last, RETRY_ID)
    return tuple(rows)
