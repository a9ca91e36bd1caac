"""Callbacks and errbacks of both styles. Row 8.10."""

from celery import shared_task

from ..observation import WAIT, new_id, note, outcome, wait_for_notes


@shared_task
def add(x, y):
    return x + y


@shared_task
def fail():
    raise ValueError("no")


@shared_task(bind=True)
def heard(self, value, key):
    note(key, [value, self.request.parent_id, self.request.root_id, self.request.group is not None])


@shared_task
def old(task_id, key):
    note(key, ["old", task_id])


@shared_task
def new(request, error, traceback, key):
    note(key, ["new", request.id, repr(error), "ValueError" in str(traceback)])


def observe():
    one, two, wrong = new_id(), new_id(), new_id()
    single = add.apply_async((1, 2), link=heard.s(one))
    double = add.s(3, 4)
    double.link(heard.s(two))
    double.link(heard.s(two))
    double.link(add.s(10) | heard.s(two))
    doubled = double.apply_async()
    failing = fail.s()
    returned = failing.on_error(old.s(wrong)) is failing
    failing.link_error(new.s(wrong))
    failing.link(heard.s(wrong))
    failed = failing.apply_async()
    state = outcome(failed)
    [first] = wait_for_notes(one)
    both = sorted(wait_for_notes(two, 2), key=lambda each: each[0])
    errors = sorted(wait_for_notes(wrong, 2))
    names = {single.id: "single", doubled.id: "double", failed.id: "failed"}
    return {
        "single": [first[0], names[first[1]], names[first[2]], first[3]],
        "both": [[each[0], names[each[2]]] for each in both],
        "children": [child.get(timeout=WAIT, propagate=False) is None for child in single.children],
        "on_error": returned,
        "state": state,
        "errors": [[names.get(part, part) for part in each] for each in errors],
    }
