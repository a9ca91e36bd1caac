"""autoretry_for=(Exception,) lets Ignore and the task's own retry pass. Rows 5.9, 6.1."""

from celery import shared_task
from celery.exceptions import Ignore
from celery.result import AsyncResult

from ..observation import new_id, note, notes, outcome, wait_for_notes

OPTIONS = {"bind": True, "autoretry_for": (Exception,), "retry_kwargs": {"countdown": 0}}


@shared_task(**OPTIONS)
def ignores(self, key):
    note(key, self.request.retries)
    raise Ignore


@shared_task(**OPTIONS)
def own_retry(self, key):
    note(key, self.request.retries)
    if self.request.retries == 0:
        raise self.retry(countdown=0)
    return "done"


@shared_task
def barrier():
    return None


def observe():
    ignored, retried = new_id(), new_id()
    result = ignores.delay(ignored)
    wait_for_notes(ignored)
    end = outcome(own_retry.delay(retried))
    outcome(barrier.delay())
    return [notes(ignored), AsyncResult(result.id).state, end, notes(retried)]
