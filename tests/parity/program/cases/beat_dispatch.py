"""What a scheduler sends: mark, lazy arguments, options; one bad entry. Rows 14.9, 14.11."""

from celery import shared_task
from celery.beat import BeatLazyFunc, Scheduler

from ..app import OTHER_QUEUE, app
from ..observation import new_id, note, wait_for_notes


@shared_task(bind=True)
def ticked(self, key, number, word="none"):
    headers = self.request.headers or {}
    note(
        key, [number, word, bool(headers.get("celery_beat_task")), self.request.delivery_info["routing_key"]]
    )


class Sudden(Scheduler):
    """Knows the entries of the case only, and runs each as if it had last run long ago."""

    def setup_schedule(self):
        """Take no entries of the settings."""


def run(scheduler, turns):
    for _ in range(turns):
        scheduler.tick()


def observe():
    key = new_id()
    numbers = iter(range(100))
    scheduler = Sudden(app=app)
    long_ago = app.now().replace(year=2020)
    call = {"args": (key, BeatLazyFunc(next, numbers)), "kwargs": {"word": BeatLazyFunc(lambda: "lazy")}}
    scheduler.add(name="bad", task=ticked.name, schedule=3600, args=(object(),), last_run_at=long_ago)
    for name in ("one", "two"):
        options = {"queue": OTHER_QUEUE}
        scheduler.add(
            name=name, task=ticked.name, schedule=3600, last_run_at=long_ago, options=options, **call
        )
    run(scheduler, 6)
    told = sorted(wait_for_notes(key, 2))
    runs = {name: entry.total_run_count for name, entry in scheduler.schedule.items()}
    return {"told": told, "runs": runs, "waits": scheduler.tick() > 100}
