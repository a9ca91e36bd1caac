"""Ignore ends a task without any state; a state that it set itself stays. Row 6.1."""

from celery import shared_task
from celery.exceptions import Ignore
from celery.result import AsyncResult

from ..observation import new_id, note, outcome, until, wait_for_notes


@shared_task
def ignores(key):
    note(key, "ran")
    raise Ignore


@shared_task(bind=True)
def sets_state(self):
    self.update_state(state="MINE", meta={"kept": True})
    raise Ignore


@shared_task
def barrier():
    return None


def observe():
    key = new_id()
    result = ignores.delay(key)
    wait_for_notes(key)
    outcome(barrier.delay())
    mine = sets_state.delay()
    until(lambda: mine.state, lambda state: state == "MINE")
    outcome(barrier.delay())
    again = AsyncResult(mine.id)
    return [AsyncResult(result.id).state, again.state, repr(again.info)]
