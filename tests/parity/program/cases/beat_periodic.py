"""app.add_periodic_task: names, options, the later of two; from on_after_configure. Row 14.5."""

from celery import Celery
from celery.schedules import crontab

from ..observation import new_id


def application():
    app = Celery(f"periodic-{new_id()}", set_as_current=False)

    @app.task(name="periodic.add")
    def add(x, y):
        return x + y

    @app.on_after_configure.connect
    def more(sender, **kwargs):
        sender.add_periodic_task(5, add.s(0, 0), name="configured")

    return app, add


def observe():
    app, add = application()
    keys = [
        app.add_periodic_task(10, add.s(2, 2), expires=3),
        app.add_periodic_task(
            crontab(minute=5), add.s(2), args=(1,), kwargs={"z": 1}, name="named", queue="q"
        ),
        app.add_periodic_task(20, add.s(2, 2)),
    ]
    entries = app.conf.beat_schedule
    return {
        "keys": keys,
        "entries": {
            name: [
                entry["task"],
                list(entry["args"]),
                dict(entry["kwargs"]),
                repr(entry["schedule"]),
                {
                    key: value
                    for key, value in sorted(entry["options"].items())
                    if key in ("expires", "queue")
                },
            ]
            for name, entry in sorted(entries.items())
        },
    }
