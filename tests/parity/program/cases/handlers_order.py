"""Which handlers of a task run, in which order, for each way it can end. Row 4.7."""

from celery import Task, shared_task
from celery.exceptions import Ignore

from ..observation import new_id, note, notes, outcome, until, wait_for_notes


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


@shared_task(base=Recording, bind=True, default_retry_delay=1)
def ends(self, key, how):
    note(key, "body")
    if how == "fail":
        raise ValueError(how)
    if how == "ignore":
        raise Ignore
    if how == "retry" and self.request.retries == 0:
        raise self.retry()


@shared_task
def barrier():
    return None


def observed(how, last):
    key = new_id()
    ends.delay(key, how)
    until(lambda: notes(key), lambda seen: last in seen)
    return notes(key)


def observe():
    ignored = new_id()
    ends.delay(ignored, "ignore")
    seen = {
        "success": observed("return", "after_return SUCCESS"),
        "failure": observed("fail", "after_return FAILURE"),
        "retry": observed("retry", "after_return SUCCESS"),
    }
    wait_for_notes(ignored, 2)
    outcome(barrier.delay())
    return {**seen, "ignore": notes(ignored)}
