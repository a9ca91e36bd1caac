"""What `|` and chain() make of their operands, and how they look. Rows 8.4, 8.24."""

import json

from celery import chain, chord, group, shared_task, signature


@shared_task
def t(*args):
    return args


def shape(sig):
    if isinstance(sig, dict):
        sig = signature(sig) if "task" in sig else sig
    kind = sig.get("subtask_type")
    if kind == "chain":
        return ["chain", *(shape(item) for item in sig.tasks)]
    if kind == "group":
        return ["group", *(shape(item) for item in sig.tasks)]
    if kind == "chord":
        return ["chord", [shape(item) for item in getattr(sig.tasks, "tasks", sig.tasks)], shape(sig.body)]
    return sig.args[0]


def observe():
    a, b, c, d = (t.s(name) for name in "abcd")
    made = {
        "task_task": a | b,
        "task_group": a | group(b, c),
        "task_group_of_one": a | group(b),
        "group_task": group(a, b) | c,
        "group_of_one_task": group([a]) | b,
        "group_group": group(a, b) | group(c, d),
        "chain_chain": (a | b) | (c | d),
        "chain_group_task": a | group(b, c) | d,
        "chord_task": chord([a, b], c) | d,
        "chord_group": chord([a, b], c) | group(c, d),
        "chord_chord": chain(chord([a, b], c), chord([b, c], d)),
        "chain_of_chain": chain(chain(a, b), chain(c, d)),
        "chain_of_iterable": chain(item for item in (a, b, c)),
        "chain_of_one": chain([a]),
        "groups_in_chain": chain(group(a, b), group(b, c), d),
        "empty_group": chain(a, group([]), b),
        "nested": chain(a, chord([b | c, group(a, b)], c), d),
    }
    return {
        "shapes": {name: shape(sig) for name, sig in made.items()},
        "through_json": {name: shape(json.loads(json.dumps(sig))) for name, sig in made.items()},
        "texts": {name: repr(made[name]) for name in ("task_task", "task_group", "chain_chain")},
        "empty_chain": [bool(chain()), chain()()],
    }
