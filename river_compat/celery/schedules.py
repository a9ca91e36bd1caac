"""When periodic tasks run (`celery.schedules`)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from river_compat.celery.crontab import crontab
from river_compat.celery.crontab_fields import Cronspec, ParseException, crontab_parser
from river_compat.celery.refused_names import refusing
from river_compat.celery.schedule_base import BaseSchedule, schedstate, schedule
from river_compat.celery.solar import solar

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

__all__ = [
    "BaseSchedule",
    "Cronspec",
    "ParseException",
    "crontab",
    "crontab_parser",
    "maybe_schedule",
    "schedstate",
    "schedule",
    "solar",
]


def maybe_schedule(s: Any, relative: bool = False, app: Celery | None = None) -> Any:
    """Return seconds or a timedelta as a schedule; a schedule as it is, with its application set."""
    if isinstance(s, int | float):
        s = timedelta(seconds=s)
    if isinstance(s, timedelta):
        return schedule(s, relative, app=app)
    if s is not None:
        s.app = app
    return s


def cronfield(s: Any) -> Any:
    """Return a field of a crontab, a star for None."""
    return "*" if s is None else s


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
