"""An error in a handler does not change what became of the task. Row 4.7."""

from celery import Task, shared_task

from ..observation import new_id, outcome


class Broken(Task):
    def on_success(self, retval, task_id, args, kwargs):
        raise RuntimeError("in on_success")

    def after_return(self, status, retval, task_id, args, kwargs, einfo):
        raise RuntimeError("in after_return")


@shared_task(base=Broken)
def fine():
    return "fine"


@shared_task
def next_task():
    return "next"


def observe():
    return [outcome(fine.apply_async(task_id=new_id())), outcome(next_task.delay())]
