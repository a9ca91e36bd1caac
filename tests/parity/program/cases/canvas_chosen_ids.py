"""`apply_async(task_id=...)` of every kind of workflow, and generators in them. Rows 8.5, 8.6, 8.7."""

from celery import chain, chord, group, shared_task

from ..observation import WAIT, new_id


@shared_task
def add(x, y):
    return x + y


@shared_task
def total(values):
    return sum(values)


def shapes():
    return {
        "task": add.s(1, 1),
        "chain": chain(add.s(1, 1), add.s(2)),
        "chain_of_groups": chain(
            group(add.si(n, n) for n in range(2)), group(total.s(), total.s()), total.s()
        ),
        "chord": chord([add.s(1, 1), add.s(2, 2)], total.s()),
        "chord_of_chords": chord(
            [chord([add.s(1, 1), add.s(2, 2)], total.s()), add.s(1, 1)], chain(total.s(), add.s(1))
        ),
        "chord_of_generator": chord((add.s(n, n) for n in range(3)), total.s()),
        "chord_of_one": chord([add.s(1, 1)], total.s()),
        "chord_of_none": chord([], total.s()),
        "group_of_generator": group(add.s(n, n) for n in range(3)),
    }


def observe():
    seen = {}
    for name, work in shapes().items():
        chosen = new_id()
        result = work.apply_async(task_id=chosen)
        value = result.get(timeout=WAIT)
        seen[name] = [value, result.id == chosen, result.parent is not None]
    return seen
