"""Libraries that hook into Celery: Sentry, and one that overrides `apply_async` and `__call__`. Row 22.8."""

from ..own import project

OWN = """
import json
import sys
import threading

import sentry_sdk
from sentry_sdk.integrations.celery import CeleryIntegration
from sentry_sdk.transport import Transport

events = []


class Kept(Transport):
    def capture_envelope(self, envelope):
        for item in envelope.items:
            event = item.get_event()
            if event:
                events.append([event["transaction"], [each["type"] for each in event["exception"]["values"]]])


sentry_sdk.init(
    dsn="http://key@localhost/1",
    transport=Kept(),
    integrations=[CeleryIntegration()],
    default_integrations=False,
)

from celery import Task, signals
from celery.contrib.testing.worker import start_worker
from program.own import application

app = application("libraries")
told = []


class Once(Task):
    running = set()

    def apply_async(self, args=None, kwargs=None, **options):
        told.append(["sent", self.name, options.get("retries", 0)])
        return super().apply_async(args, kwargs, **options)

    def __call__(self, *args, **kwargs):
        told.append(["called", self.name, self.request.retries])
        return super().__call__(*args, **kwargs)


@app.task(base=Once)
def fail():
    return 1 / 0


@app.task(base=Once, bind=True)
def again(self):
    if not self.request.retries:
        raise self.retry(exc=KeyError("later"), countdown=0)
    return "done"


@app.task(base=Once)
def after(value):
    return value


@signals.before_task_publish.connect
def trace(sender=None, headers=None, **kwargs):
    headers["trace"] = "traced"


@app.task(bind=True)
def header(self):
    return self.request.get("trace") or (self.request.headers or {}).get("trace")


with start_worker(app, perform_ping_check=False):
    seen = {"fail": fail.delay().get(timeout=60, propagate=False).__class__.__name__}
    seen["again"] = (again.s() | after.s()).delay().get(timeout=60)
    seen["header"] = header.delay().get(timeout=60)
calls = sorted(each for each in told if each[0] == "called")
sent = sorted(each for each in told if each[0] == "sent" and each[1] != "own.after")
print("SEEN", json.dumps({**seen, "called": calls, "sent": sent, "sentry": events}))
"""


def observe():
    with project(own=OWN) as own:
        own.alias()
        return own.start("-c", "import own").seen()
