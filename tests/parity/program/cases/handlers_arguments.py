"""What the handlers of a task are given. Row 4.7."""

from celery import Task, shared_task

from ..observation import new_id, note, notes, shown, until


class Recording(Task):
    def on_success(self, retval, task_id, args, kwargs):
        note(task_id, ["on_success", retval, args, kwargs])

    def on_failure(self, exc, task_id, args, kwargs, einfo):
        lines = str(einfo).strip().splitlines()
        note(task_id, ["on_failure", shown(exc), args, kwargs, lines[-1]])

    def on_retry(self, exc, task_id, args, kwargs, einfo):
        note(task_id, ["on_retry", type(exc).__name__, args, kwargs, bool(str(einfo))])

    def after_return(self, status, retval, task_id, args, kwargs, einfo):
        note(task_id, ["after_return", status, shown(retval), args, kwargs])


@shared_task(base=Recording)
def succeeds(x, y=0):
    return x + y


@shared_task(base=Recording)
def fails(x, y=0):
    raise ValueError(x, y)


@shared_task(base=Recording, bind=True, default_retry_delay=1)
def retries(self, x, y=0):
    if self.request.retries == 0:
        raise self.retry(exc=ValueError("again"))
    return "done"


def observe():
    seen = []
    for task in (succeeds, fails, retries):
        task_id = new_id()
        task.apply_async((1,), {"y": 2}, task_id=task_id)
        seen.append(until(lambda: notes(task_id), lambda found: found and found[-1][0] == "after_return"))  # noqa: B023
    return seen
