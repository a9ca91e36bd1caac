"""An application is made, registers tasks and reads settings without asking anybody. Row 1.1."""

import os
import warnings

from celery import Celery, Task, current_app

NOBODY = {
    "redis": "redis://127.0.0.1:1/0",
    "postgresql": "postgresql://nobody@127.0.0.1:1/nothing?connect_timeout=2",
    "sqlite": "sqlite:////no/such/directory/river.sqlite3",
}


class Counting(Task):
    count = 0


def unreachable(**options):
    kind = os.environ["PARITY_BROKER"].partition("://")[0]
    return Celery("apart", broker=NOBODY[kind], set_as_current=False, **options)


def made():
    app = unreachable(include=["a", "b"], task_cls=Counting, task_track_started=True, timezone="Asia/Tokyo")

    @app.task(bind=True)
    def add(self, x, y):
        self.count += 1
        return [x + y, self.count]

    return {
        "main": [app.main, current_app.main != "apart"],
        "settings": [list(app.conf.include), app.conf.task_track_started, app.conf.timezone],
        "registered": [add.name, add.name in app.tasks, isinstance(app.tasks[add.name], Counting)],
        "called": [add(1, 2), add(1, 2)],
    }


def configured():
    changed = unreachable(changes={"task_default_queue": "changed"})
    named = unreachable(config_source={"PREFIX_TASK_TRACK_STARTED": True}, namespace="PREFIX")
    loose = unreachable(strict_typing=False)

    @loose.task
    def nothing():
        """Take nothing."""

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = unreachable(application_version="1.2")
    return {
        "changes": changed.conf.task_default_queue,
        "namespace": named.conf.task_track_started,
        "typing": [nothing.typing, loose.strict_typing],
        "own": own.conf.application_version,
    }


def observe():
    return {**made(), **configured()}
