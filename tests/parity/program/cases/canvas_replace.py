"""A task that is replaced by a task, a chain, a group, inside a chain and inside a chord. Rows 4.10, 8.16."""

from celery import chain, chord, group, shared_task
from celery.exceptions import ImproperlyConfigured

from ..observation import WAIT, new_id, note, outcome, wait_for_notes


@shared_task
def add(x, y):
    return x + y


@shared_task
def same(value):
    return value


@shared_task(bind=True)
def facts(self, value):
    return [value, self.request.id, self.request.replaced_task_nesting]


@shared_task(bind=True)
def by(self, value, how):
    if how == "task":
        return self.replace(add.si(value, 1))
    if how == "chain":
        return self.replace(add.si(value, 1) | add.s(1))
    if how == "group":
        return self.replace(group(add.si(value, 1), add.si(value, 2)))
    if how == "facts":
        return self.replace(facts.si(value))
    return self.replace(chain())


@shared_task
def heard(value, key):
    note(key, value)


def observe():
    key = new_id()
    shapes = ("task", "chain", "group")
    told = by.s(1, "facts").apply_async(link=heard.s(key))
    value = told.get(timeout=WAIT)
    return {
        "alone": {how: by.delay(10, how).get(timeout=WAIT) for how in shapes},
        "in_chain": {how: chain(same.s(10), by.s(how), same.s())().get(timeout=WAIT) for how in shapes},
        "in_chord": chord([by.s(10, "task"), by.s(10, "chain")], same.s())().get(timeout=WAIT),
        "facts": [value[0], value[1] == told.id, value[2]],
        "callback": [each[1] == told.id for each in wait_for_notes(key)],
        "empty": outcome(by.delay(1, "empty"))["value"]["error"] == ImproperlyConfigured.__name__,
    }
