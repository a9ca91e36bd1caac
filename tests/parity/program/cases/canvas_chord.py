"""Values of chords: order, nesting, bodies of every kind, empty headers, ids. Rows 8.7, 8.21."""

from celery import chain, chord, group, shared_task

from ..observation import WAIT, new_id


@shared_task
def add(x, y):
    return x + y


@shared_task
def same(value):
    return value


@shared_task
def xsum(numbers):
    return sum(numbers)


@shared_task
def nothing():
    return "body ran"


def observe():
    body_id = new_id()
    result = chord([add.s(i, i) for i in range(5)], same.s()).apply_async(task_id=body_id)
    return {
        "value": result.get(timeout=WAIT),
        "id": result.id == body_id,
        "parent": [type(result.parent).__name__, len(result.parent), result.parent.get(timeout=WAIT)],
        "called_with_body": chord(add.s(i, 1) for i in range(3))(xsum.s()).get(timeout=WAIT),
        "body_chain": chord([add.s(1, 1), add.s(2, 2)], xsum.s() | add.s(10))().get(timeout=WAIT),
        "body_group": (group(add.s(1, 1), add.s(2, 2)) | group(xsum.s(), same.s()))().get(timeout=WAIT),
        "body_immutable": chord([add.s(1, 1), add.s(2, 2)], nothing.si())().get(timeout=WAIT),
        "in_chain": chain(same.s(1), group(add.s(1), add.s(2)), xsum.s(), add.s(100))().get(timeout=WAIT),
        "chains_in_header": chord([add.s(1, 1) | add.s(1), add.s(2, 2)], same.s())().get(timeout=WAIT),
        "of_chords": chord(
            [chord([add.s(1, 1), add.s(2, 2)], xsum.s()), chord([add.s(3, 3)], xsum.s())], xsum.s()
        )().get(timeout=WAIT),
        "empty": chord([], same.s())().get(timeout=WAIT),
        "one": (group([add.s(1, 1)]) | same.s())().get(timeout=WAIT),
    }
