"""retry_kwargs limit the retries and give the countdown; listed exceptions may be taken out again.

Row 5.13.
"""

from celery import shared_task

from ..observation import new_id, note, notes, outcome


@shared_task(bind=True, autoretry_for=(Exception,), retry_kwargs={"max_retries": 1, "countdown": 0})
def once(self, key):
    note(key, self.request.retries)
    raise ValueError("once more only")


@shared_task(
    bind=True, autoretry_for=(Exception,), dont_autoretry_for=(KeyError,), retry_kwargs={"countdown": 0}
)
def taken_out(self, key):
    note(key, self.request.retries)
    raise KeyError("not this one")


def observe():
    seen = []
    for task in (once, taken_out):
        key = new_id()
        seen.append([outcome(task.delay(key)), notes(key)])
    return seen
