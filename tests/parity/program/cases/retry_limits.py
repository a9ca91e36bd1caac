"""max_retries on the task and in the call: 0, a number, None for ever. Rows 2.4, 5.2."""

from celery import shared_task

from ..observation import new_id, note, notes, outcome


@shared_task(bind=True, max_retries=0, default_retry_delay=0)
def never(self, key):
    note(key, self.request.retries)
    raise self.retry(exc=ValueError("not once"))


@shared_task(bind=True, max_retries=None, default_retry_delay=0)
def for_ever(self, key):
    note(key, self.request.retries)
    if self.request.retries == 5:
        return "enough"
    raise self.retry(exc=ValueError("again"))


@shared_task(bind=True, max_retries=9, default_retry_delay=0)
def limited_by_call(self, key):
    note(key, self.request.retries)
    raise self.retry(exc=ValueError("the call says one"), max_retries=1)


def observed(task):
    key = new_id()
    return [outcome(task.delay(key)), notes(key)]


def observe():
    return [observed(task) for task in (never, for_ever, limited_by_call)]
