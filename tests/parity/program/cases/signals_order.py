"""Handlers and receivers hear of each end in one order. Rows 4.7, 6.1, 6.2."""

from celery import Task, shared_task, signals
from celery.exceptions import Ignore, Reject

from ..observation import new_id, note, notes, until

NAME = "parity.signals_order.ends"
HOWS = {
    "return": "task_postrun SUCCESS",
    "fail": "task_postrun FAILURE",
    "ignore": "task_postrun IGNORED",
    "reject": "task_failure",
}


class Recording(Task):
    def before_start(self, task_id, args, kwargs):
        note(args[0], "before_start")

    def on_success(self, retval, task_id, args, kwargs):
        note(args[0], "on_success")

    def on_failure(self, exc, task_id, args, kwargs, einfo):
        note(args[0], "on_failure")

    def on_retry(self, exc, task_id, args, kwargs, einfo):
        note(args[0], "on_retry")

    def after_return(self, status, retval, task_id, args, kwargs, einfo):
        note(args[0], f"after_return {status}")


@shared_task(base=Recording, bind=True, name=NAME)
def ends(self, key, how):
    note(key, "body")
    if how == "fail":
        raise ValueError(how)
    if how == "ignore":
        raise Ignore
    if how == "reject":
        raise Reject(how)
    if how == "retry" and not self.request.retries:
        raise self.retry(countdown=2)


def heard(name):
    def receiver(sender=None, args=None, request=None, state=None, **kwargs):
        if sender.name == NAME:
            args = args or sender.request.args
            note(args[0], f"{name} {state}" if state else name)

    getattr(signals, name).connect(receiver, weak=False)


for signal in ("task_prerun", "task_postrun", "task_success", "task_failure", "task_retry"):
    heard(signal)


def observed(how, last, count=1):
    key = new_id()
    ends.delay(key, how)
    until(lambda: notes(key), lambda seen: seen.count(last) >= count)
    return notes(key)


def observe():
    seen = {how: observed(how, last) for how, last in HOWS.items()}
    return {**seen, "retry": observed("retry", "task_postrun SUCCESS")}
