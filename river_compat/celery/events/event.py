"""An event as Celery makes it (`celery.events.event`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from river_compat.celery.events import Event, get_exchange, group_from
from river_compat.celery.refused_names import refusing

__all__ = ["Event", "get_exchange", "group_from"]

if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
