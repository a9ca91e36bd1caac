"""Entries of a scheduler: merged, replaced, counted, compared; a class of one's own. Row 14.8."""

from celery.beat import ScheduleEntry, Scheduler
from celery.schedules import crontab

from ..app import app


class Own(Scheduler):
    """Sends nothing, and tells what it would."""

    def setup_schedule(self):
        """Begin with two entries."""
        self.told = []
        self.update_from_dict(
            {"a": {"task": "t.a", "schedule": 10}, "b": {"task": "t.b", "schedule": crontab()}}
        )

    def send_task(self, *args, **kwargs):
        """Keep the call."""
        self.told.append([args[0], kwargs["headers"]["celery_beat_task"]])


def shown(scheduler):
    return sorted([name, entry.task, repr(entry.schedule)] for name, entry in scheduler.schedule.items())


def observe():
    own = Own(app=app, max_interval=20)
    before = shown(own)
    own.apply_entry(own.schedule["a"])
    counted = own.reserve(own.schedule["a"])
    own.merge_inplace({"a": {"task": "t.new", "schedule": 30}, "c": {"task": "t.c", "schedule": 5}})
    again = ScheduleEntry(name="other", task="t.new", schedule=30, app=app)
    return {
        "before": before,
        "after": shown(own),
        "told": own.told,
        "runs": [
            counted.total_run_count,
            own.schedule["a"].total_run_count,
            own.schedule["c"].total_run_count,
        ],
        "equal": [again == own.schedule["a"], again == own.schedule["c"]],
        "repr": repr(again),
        "due": [bool(own.schedule["c"].is_due()[0]), own.max_interval],
        "settings": [app.conf.beat_max_loop_interval, app.conf.beat_sync_every, app.conf.beat_scheduler],
    }
