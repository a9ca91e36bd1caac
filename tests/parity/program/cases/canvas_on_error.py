"""`on_error` links an errback and returns the signature itself; of a chain it is every step's. Row 8.11."""

from celery import chain, group, shared_task

from ..observation import new_id, note, outcome, wait_for_notes


@shared_task
def fails(*args):
    raise ValueError("no")


@shared_task
def fine(*args):
    return "fine"


@shared_task
def told(request, error, traceback, key):
    note(key, [request.task.rpartition(".")[2], repr(error)])


def observe():
    keys = [new_id() for _ in range(4)]
    single = fails.s()
    same = single.on_error(told.s(keys[0])) is single
    steps = chain(fine.s(), fails.s(), fine.s()).on_error(told.s(keys[1]))
    early = chain(fails.s(), fine.s()).on_error(told.s(keys[2]))
    members = group(fine.s(), fails.s()).on_error(told.s(keys[3]))
    ends = [outcome(each.delay()) for each in (single, steps, early)]
    members.delay()
    return {
        "same": same,
        "kinds": [type(each).__name__ for each in (steps, members)],
        "ends": [end["state"] for end in ends],
        "heard": [wait_for_notes(key) for key in keys],
    }
