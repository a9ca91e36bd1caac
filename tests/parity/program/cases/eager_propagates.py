"""With task_eager_propagates exceptions leave the call. Rows 16.1, 16.3."""

from celery import shared_task

from ..app import app
from ..observation import raised, shown


@shared_task
def fails():
    raise KeyError("k")


@shared_task(bind=True, max_retries=3)
def retries(self):
    if self.request.retries < 3:
        raise self.retry(exc=KeyError("k"), countdown=60)
    return self.request.retries


@shared_task(bind=True)
def request(self):
    info = self.request.delivery_info
    return [
        self.request.is_eager,
        self.request.called_directly,
        info["is_eager"],
        bool(self.request.id),
        self.request.root_id == self.request.id,
    ]


@shared_task
def sends(x):
    return x


def observe():
    before = app.conf.task_always_eager, app.conf.task_eager_propagates
    app.conf.task_always_eager = True
    try:
        kept = fails.delay()
        round_trip = sends.delay((1, 2)).get()
        four = retries.delay().get()
        app.conf.task_eager_propagates = True
        left = raised(fails.delay)
        retry = raised(retries.delay)["error"]
        asked = request.delay().get()
    finally:
        app.conf.task_always_eager, app.conf.task_eager_propagates = before
    return {
        "kept": [kept.state, shown(kept.result)],
        "round trip": shown(round_trip),
        "retries": four,
        "left": left,
        "retry": retry,
        "request": asked,
        "throw": raised(fails.apply, throw=True)["error"],
    }
