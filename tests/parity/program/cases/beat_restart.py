"""A restart of the beat neither forgets nor repeats a run. Row 14.7."""

from celery.beat import Service

from ..observation import new_id, note, notes, until
from ..own import application, project, working


def run(app, file, key, count):
    """Start a beat, run it until so many tasks are sent; return what it knows of the entry, and stop it."""
    scheduler = Service(app, schedule_filename=file).scheduler
    scheduler.tick()
    until(lambda: scheduler.tick() and sent(app, key), lambda seen: seen >= count)
    entry = scheduler.schedule["often"]
    known = [entry.total_run_count, entry.last_run_at]
    scheduler.close()
    return known


def sent(app, key):
    return len(notes(key))


def observe():
    key = new_id()
    with project() as own:
        app = application(key, task_default_queue=own.queue, set_as_current=False)

        @app.task(name="restart.tick")
        def tick():
            note(key, True)

        app.conf.beat_schedule = {"often": {"task": tick.name, "schedule": 3.0}}
        app.conf.beat_max_loop_interval = 1
        file = str(own.directory / "schedule")
        with working(app):
            first = run(app, file, key, 1)
            at_once = Service(app, schedule_filename=file).scheduler
            at_once.tick()
            seen = {"remembers": at_once.schedule["often"].total_run_count >= 1}
            at_once.close()
            second = run(app, file, key, 2)
        apart = (second[1] - first[1]).total_seconds()
        return {**seen, "counts": [first[0] >= 1, second[0] >= 2], "not at once": apart > 2.5}
