"""What fails inside of nested workflows: the error of the whole, and what errbacks hear. Rows 8.7, 8.10."""

from celery import chain, chord, group, shared_task

from ..observation import WAIT, new_id, note, wait_for_notes


@shared_task
def fail(*args):
    raise ValueError("no")


@shared_task
def same(value):
    return value


@shared_task
def told(task_id, key):
    note(key, task_id)


@shared_task
def heard(request, error, traceback, key):
    note(key, [request.id, repr(error), type(traceback).__name__])


def named(value, names):
    """Write ids of tasks as their names, in texts of any depth."""
    if isinstance(value, list):
        return [named(item, names) for item in value]
    text = str(value)
    for name, task_id in names.items():
        text = text.replace(task_id, name)
    return text


def with_id(sig, name, names):
    names[name] = new_id()
    return sig.set(task_id=names[name])


def shapes(names):
    """Workflows with one task that fails; ids of tasks that errors may tell of are known by name."""

    def one(sig, name):
        return with_id(sig, name, names)

    return {
        "chain_in_header": chord([chain(one(fail.si(), "a1"), one(same.s(), "a2")), same.si(1)], same.s()),
        "last_of_chain": chord([chain(one(same.si(1), "b1"), one(fail.s(), "b2")), same.si(1)], same.s()),
        "inner_body": chord([chord([same.si(1), same.si(2)], one(fail.s(), "d1")), same.si(1)], same.s()),
        "group_in_header": chord([group(one(fail.si(), "e1"), same.si(1)), same.si(1)], same.s()),
        "group_in_chain": chain(same.si(1), group(one(fail.s(), "f1"), same.s()), same.s()),
        "body": chord([same.si(1), same.si(2)], one(fail.s(), "g1")),
        "chain_as_body": chord([same.si(1), one(fail.si(), "h1")], chain(same.s(), same.s())),
        "after_group": chain(group(same.si(1), one(fail.si(), "j1")), one(same.s(), "j2"), same.s()),
        "after_chord": chain(chord([same.si(1), one(fail.si(), "i1")], one(same.s(), "i2")), same.s()),
    }


TOLD = {"inner_body": 2}
"""How many errbacks of each kind hear of it, where it is not one."""


def observe():
    names = {}
    seen = {}
    for name, work in shapes(names).items():
        keys = new_id(), new_id()
        work.link_error(told.s(keys[0]))
        work.link_error(heard.s(keys[1]))
        result = work.apply_async()
        error = result.get(timeout=WAIT, propagate=False, follow_parents=False)
        here = {**names, "WHOLE": result.id}
        seen[name] = {"state": result.state, "error": [type(error).__name__, named(str(error), here)]}
        told_of, heard_of = (named(wait_for_notes(key, TOLD.get(name, 1)), here) for key in keys)
        seen[name] |= {"told": sorted(told_of), "heard": sorted(heard_of)}
    return seen
