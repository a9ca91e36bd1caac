"""A state of one's own is seen while the task runs; a later success is final. Rows 4.8, 4.9."""

from celery import shared_task
from celery.result import AsyncResult

from ..observation import WAIT, new_id, note, notes, until


@shared_task(bind=True)
def reports(self, key):
    self.update_state(state="PROGRESS", meta={"done": 1, "of": 2})
    note(key, [self.app is not None, self.backend is not None, self.name.rpartition(".")[2]])
    note(key, self.AsyncResult(self.request.id).state)
    until(lambda: notes(f"{key}-go"), bool)
    self.update_state(meta={"done": 2, "of": 2}, state="PROGRESS")
    return "end"


def observe():
    key = new_id()
    result = reports.delay(key)
    until(lambda: result.state, lambda state: state == "PROGRESS")
    seen = [result.state, result.info, result.ready(), AsyncResult(result.id).info]
    note(f"{key}-go", True)
    return {"running": seen, "end": [result.get(timeout=WAIT), result.state], "inside": notes(key)}
