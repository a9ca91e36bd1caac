"""Periodic tasks (`celery.beat`)."""

from __future__ import annotations

from river_compat.celery.beat_dispatch import SchedulingError
from river_compat.celery.beat_entry import BeatLazyFunc, ScheduleEntry
from river_compat.celery.beat_heap import event_t
from river_compat.celery.beat_remote import NODENAME_DEFAULT, BeatPidbox, beat_nodename
from river_compat.celery.beat_service import EmbeddedBeat, EmbeddedService, Service
from river_compat.celery.persistent_scheduler import PersistentScheduler
from river_compat.celery.scheduler import DEFAULT_MAX_INTERVAL, Scheduler

_Threaded = EmbeddedBeat
_Process = None

__all__ = [
    "DEFAULT_MAX_INTERVAL",
    "NODENAME_DEFAULT",
    "BeatLazyFunc",
    "BeatPidbox",
    "EmbeddedService",
    "PersistentScheduler",
    "ScheduleEntry",
    "Scheduler",
    "SchedulingError",
    "Service",
    "beat_nodename",
    "event_t",
]
