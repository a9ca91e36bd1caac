"""What a task makes of itself: signatures, maps and chunks of it. Row 3.24."""

import json

from celery import shared_task

from ..observation import outcome


@shared_task
def add(x, y=1):
    return x + y


def observe():
    made = {
        "s": add.s(1, y=2),
        "si": add.si(1),
        "signature": add.signature((1,), {"y": 2}, countdown=3),
        "subtask": add.subtask(args=(1,), immutable=True, queue="q"),
        "map": add.map([1, 2]),
        "starmap": add.starmap([(1, 2), (3, 4)]),
        "chunks": add.chunks(zip(range(5), range(5), strict=True), 2),
    }
    for name in ("map", "starmap"):
        made[name].pop("subtask_type")  # Celery says None there, and so forgets what it was
    return {
        "made": {name: json.loads(json.dumps(dict(each))) for name, each in made.items() if name != "chunks"},
        "types": {name: type(each).__name__ for name, each in made.items()},
        "task": [each.type.name if hasattr(each, "type") else None for each in list(made.values())[:4]],
        "run": {
            "s": outcome(add.s(1, y=2).delay()),
            "map": outcome(add.map([1, 2]).delay()),
            "starmap": outcome(add.starmap([(1, 2), (3, 4)]).delay()),
            "chunks": add.chunks([(n, n) for n in range(5)], 2).delay().get(timeout=20),
            "group of chunks": len(add.chunks([(n, n) for n in range(5)], 2).group()),
        },
    }
