"""Limits of a task and of a call, which wins, and what a declared contradiction does. Rows 2.12, 3.16."""

from celery import shared_task

from ..observation import new_id, note, notes, outcome, raised


@shared_task(bind=True)
def free(self):
    return [self.request.timelimit, self.request.time_limit, self.request.soft_time_limit]


@shared_task(bind=True, time_limit=200, soft_time_limit=100)
def limited(self):
    return [self.request.timelimit, self.request.time_limit, self.request.soft_time_limit]


@shared_task(time_limit=10, soft_time_limit=20)
def contradicts():
    return "ran"


@shared_task(time_limit=10, soft_time_limit=10)
def equal():
    return "ran"


@shared_task(bind=True, time_limit=200, max_retries=1, default_retry_delay=0)
def retried(self, key):
    note(key, self.request.timelimit)
    raise self.retry()


def retry():
    key = new_id()
    outcome(retried.apply_async((key,), time_limit=50, soft_time_limit=40))
    return notes(key)


def observe():
    return {
        "none": outcome(free.delay()),
        "call": outcome(free.apply_async(time_limit=30, soft_time_limit=15)),
        "task": outcome(limited.delay()),
        "call_wins": outcome(limited.apply_async(time_limit=30, soft_time_limit=15)),
        "one_of_two": outcome(limited.apply_async(soft_time_limit=15)),
        "cleared": outcome(limited.apply_async(time_limit=None, soft_time_limit=None)),
        "half_cleared": outcome(limited.apply_async(time_limit=None)),
        "above_in_a_call": outcome(limited.apply_async(time_limit=30, soft_time_limit=60)),
        "signature": outcome(limited.s().set(time_limit=77).delay()),
        "retried": retry(),
        "contradicts": raised(contradicts.delay),
        "equal": outcome(equal.delay()),
        "applied": limited.apply().get(),
    }
