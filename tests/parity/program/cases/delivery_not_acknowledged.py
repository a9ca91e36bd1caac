"""A task that fails and is not acknowledged for that has failed all the same. Rows 2.14, 11.3."""

from celery import shared_task

from ..observation import new_id, note, notes, outcome


def fail(key):
    note(key, "ran")
    raise ValueError("once")


def named(name, **options):
    return shared_task(name=f"parity.delivery_not_acknowledged.{name}", **options)(fail)


TASKS = {
    "late": named("late", acks_late=True),
    "by both": named("by_both", acks_late=True, acks_on_failure_or_timeout=False),
    "by its own": named("by_its_own", acks_late=True, acks_on_failure=False),
    "not of timeouts": named("not_of_timeouts", acks_late=True, acks_on_timeout=False),
    "early": named("early", acks_late=False, acks_on_failure_or_timeout=False),
}


@shared_task
def after():
    return "the worker goes on"


def observe():
    keys = {name: new_id() for name in TASKS}
    results = {name: task.delay(keys[name]) for name, task in TASKS.items()}
    ends = {name: outcome(result) for name, result in results.items()}
    last = [outcome(after.delay())["value"] for _ in range(4)]
    return {"ends": ends, "runs": [len(notes(key)) for key in keys.values()], "after": last}
