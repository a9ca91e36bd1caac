"""`task_prerun` and `task_postrun` come with each run, whatever its end. Row 13.4."""

from celery import shared_task, signals
from celery.exceptions import Ignore, Reject

from ..observation import new_id, note, notes, shown, until

NAME = "parity.signals_runs.act"
ENDS = {"return": 2, "fail": 2, "ignore": 2, "reject": 2, "retry": 4}


@shared_task(bind=True, name=NAME, default_retry_delay=2, acks_late=True)
def act(self, key, how):
    note(key, ["body", self.request.retries])
    if how == "fail":
        raise ValueError(how)
    if how == "ignore":
        raise Ignore
    if how == "reject":
        raise Reject(how)
    if how == "retry" and not self.request.retries:
        raise self.retry()
    return how


@signals.task_prerun.connect
def before(sender=None, task_id=None, task=None, args=None, kwargs=None, **more):
    if sender.name == NAME:
        facts = [task is sender, task_id == sender.request.id, kwargs["how"], sender.request.retries]
        note(kwargs["key"], ["prerun", *facts])


@signals.task_postrun.connect
def after(sender=None, task_id=None, args=None, kwargs=None, retval=None, state=None, **more):
    if sender.name == NAME:
        value = shown(retval) if state in ("SUCCESS", "FAILURE") else type(retval).__name__
        note(kwargs["key"], ["postrun", state, value, task_id == sender.request.id])


def observed(how, count):
    key = new_id()
    act.delay(key=key, how=how)

    def ended(seen):
        return sum(each[0] != "body" for each in seen) >= count

    return until(lambda: notes(key), ended)


def observe():
    return {how: observed(how, count) for how, count in ENDS.items()}
