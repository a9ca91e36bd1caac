"""Entries of `beat_schedule` as a scheduler has them, and what it sends for each. Row 14.1."""

from datetime import timedelta

from celery.beat import Scheduler
from celery.schedules import crontab

from ..observation import new_id
from ..own import application

ENTRIES = {
    "seconds": {"task": "beat.a", "schedule": 30.0},
    "delta": {"task": "beat.b", "schedule": timedelta(minutes=2), "args": (1, "x"), "kwargs": {"k": None}},
    "crontab": {"task": "beat.c", "schedule": crontab(minute="*/5"), "options": {"queue": "q", "expires": 9}},
    "relative": {"task": "beat.d", "schedule": 3600, "relative": True},
}


class Telling(Scheduler):
    """Tells what it would send."""

    sent = ()

    def send_task(self, *args, **kwargs):
        """Note instead of sending."""
        self.sent = (*self.sent, [args, kwargs])


def shown(entry):
    return {
        "task": entry.task,
        "schedule": [type(entry.schedule).__name__, repr(entry.schedule)],
        "relative": getattr(entry.schedule, "relative", None),
        "args": list(entry.args or ()),
        "kwargs": entry.kwargs,
        "options": {name: value for name, value in entry.options.items() if name != "headers"},
        "marked": (entry.options.get("headers") or {}).get("celery_beat_task"),
        "runs": entry.total_run_count,
    }


def observe():
    app = application(task_default_queue=new_id(), beat_schedule=ENTRIES, set_as_current=False)
    scheduler = Telling(app=app)
    entries = {name: shown(scheduler.schedule[name]) for name in ENTRIES}
    for name in ENTRIES:
        scheduler.apply_async(scheduler.schedule[name], advance=False)
    sent = [
        [args[0], list(args[1] or ()), args[2], sorted(set(kwargs) - {"producer"})]
        for args, kwargs in scheduler.sent
    ]
    advanced = next(scheduler.schedule["seconds"])
    changed = {"seconds": {"task": "beat.a", "schedule": 40.0}, "new": {"task": "beat.e", "schedule": 5}}
    scheduler.merge_inplace(changed)
    merged = {name: repr(scheduler.schedule[name].schedule) for name in sorted(scheduler.schedule)}
    app.close()
    return {
        "entries": entries,
        "sent": sent,
        "advanced": [advanced.total_run_count, advanced.name, advanced.task],
        "merged": merged,
    }
