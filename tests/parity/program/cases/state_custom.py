"""A task reports a state and data of its own while it runs; the end replaces them. Row 4.8."""

from celery import shared_task
from celery.result import AsyncResult

from ..observation import WAIT, new_id, note, until, wait_for_notes


@shared_task(bind=True)
def progresses(self, key):
    self.update_state(state="PROGRESS", meta={"done": 1, "of": 3})
    wait_for_notes(f"{key}-one")
    self.update_state(state="PROGRESS", meta={"done": 2, "of": 3})
    wait_for_notes(f"{key}-two")
    return "end"


def observe():
    key = new_id()
    result = progresses.delay(key)

    def seen(done):
        until(lambda: AsyncResult(result.id).info, lambda info: info and info["done"] == done)
        return [result.state, repr(result.info), repr(result.result), result.ready()]

    first = seen(1)
    note(f"{key}-one", "go")
    second = seen(2)
    note(f"{key}-two", "go")
    return [first, second, result.get(timeout=WAIT), result.state, repr(result.info)]
