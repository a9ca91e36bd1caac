"""Callbacks that are linked to a signature: each once, with the ids of the first. Row 8.9."""

from celery import chain, shared_task

from ..observation import WAIT, new_id, note, outcome, wait_for_notes


@shared_task
def add(x, y):
    return x + y


@shared_task(bind=True)
def heard(self, value, key, word):
    note(key, [word, value, self.request.parent_id, self.request.root_id])
    return word


def observe():
    key = new_id()
    sig = add.s(1, 2)
    returned = sig.link(heard.s(key, "one"))
    sig.link(heard.s(key, "one"))
    sig.link(add.s(10) | heard.s(key, "chain"))
    first = sig.delay()
    value = first.get(timeout=WAIT)
    told = sorted(wait_for_notes(key, 2))
    steps_key = new_id()
    steps = chain(add.s(1, 1), add.s(3))
    steps.link(heard.s(steps_key, "after all"))
    last = outcome(steps.delay())
    names = {first.id: "first"}
    return {
        "returned": type(returned).__name__,
        "value": value,
        "told": [[word, seen, names.get(parent, "a step"), names[root]] for word, seen, parent, root in told],
        "chain": [last, [each[:2] for each in wait_for_notes(steps_key)]],
        "children": len(first.children),
    }
