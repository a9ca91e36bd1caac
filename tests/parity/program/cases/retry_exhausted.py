"""When the retries are used up the given exception is raised, else MaxRetriesExceededError. Row 5.2."""

from celery import shared_task

from ..observation import new_id, note, notes, outcome


@shared_task(bind=True, default_retry_delay=0)
def with_exception(self, key):
    note(key, self.request.retries)
    raise self.retry(exc=ValueError("gave up"))


@shared_task(bind=True, default_retry_delay=0)
def without_exception(self, key):
    note(key, self.request.retries)
    raise self.retry()


@shared_task(bind=True, default_retry_delay=0)
def while_handling(self, key):
    note(key, self.request.retries)
    try:
        {}["missing"]
    except KeyError:
        self.retry(max_retries=1)


def observed(task):
    key = new_id()
    seen = outcome(task.apply_async((key,), task_id=key))
    seen["value"] = {name: str(value).replace(key, "ID") for name, value in seen["value"].items()}
    return [seen, notes(key)]


def observe():
    return [observed(task) for task in (with_exception, without_exception, while_handling)]
