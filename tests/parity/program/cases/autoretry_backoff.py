"""Without jitter the delays double from the factor up to the maximum. Rows 5.10, 5.11."""

from datetime import datetime
from itertools import pairwise

from celery import shared_task

from ..observation import new_id, note, notes, outcome

OPTIONS = {"bind": True, "autoretry_for": (ValueError,), "retry_backoff": True, "retry_jitter": False}


@shared_task(**OPTIONS, retry_backoff_max=2, max_retries=3)
def doubling(self, key):
    note(key, [datetime.now().astimezone().isoformat(), self.request.eta])
    raise ValueError("again")


def observe():
    key = new_id()
    end = outcome(doubling.delay(key))
    seen = notes(key)
    pairs = pairwise(seen)
    delays = [datetime.fromisoformat(later[1]) - datetime.fromisoformat(now[0]) for now, later in pairs]
    not_before = [datetime.fromisoformat(run) >= datetime.fromisoformat(eta) for run, eta in seen[1:]]
    return [end, [round(delay.total_seconds(), 1) for delay in delays], not_before]
