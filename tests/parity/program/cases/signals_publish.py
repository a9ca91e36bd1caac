"""Receivers may add headers before a task is sent, and hear when it was. Rows 13.1, 13.2, 13.11."""

from celery import shared_task, signals

from ..app import app
from ..observation import WAIT, new_id

NAME = "parity.signals_publish.look"


@shared_task(bind=True, name=NAME, default_retry_delay=0)
def look(self):
    if self.request.headers.get("again") and not self.request.retries:
        raise self.retry()
    return [self.request.headers, self.request.trace]


@signals.before_task_publish.connect
def trace(sender=None, headers=None, **kwargs):
    """In the worker too, where retries are sent."""
    if sender == NAME:
        headers["trace"] = [*headers.get("trace", []), headers["retries"]]


def facts(kwargs):
    headers = kwargs["headers"]
    names = ("task", "argsrepr", "kwargsrepr", "retries", "shadow", "lang", "own")
    return {
        "names": sorted(set(kwargs) - {"signal", "headers"}),
        "sender": kwargs["sender"],
        "where": [kwargs["exchange"], kwargs["routing_key"]],
        "body": [list(kwargs["body"][0]), kwargs["body"][1], sorted(kwargs["body"][2])],
        "headers": {name: headers[name] for name in names},
        "roots": headers["id"] == headers["root_id"],
    }


def observe():
    heard = []

    def before(**kwargs):
        heard.append(["before", facts(kwargs), sorted(kwargs["properties"])[:1]])

    def after(**kwargs):
        heard.append(["after", facts(kwargs)])

    def sent(**kwargs):
        told = {name: kwargs[name] for name in ("task", "args", "kwargs", "eta", "taskset")}
        heard.append(["sent", told | {"args": list(kwargs["args"])}])

    signals.before_task_publish.connect(before, sender=NAME)
    signals.after_task_publish.connect(after, sender=NAME)
    signals.task_sent.connect(sent, sender=NAME)
    result = look.apply_async(headers={"own": 1}, shadow="other")
    by_name = app.send_task(NAME, headers={"own": 2}, task_id=new_id())
    retried = look.apply_async(headers={"own": 3, "again": True})
    look.apply()
    return {
        "heard": heard,
        "seen": [item.get(timeout=WAIT) for item in (result, by_name, retried)],
    }
