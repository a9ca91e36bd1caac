"""Partial arguments, immutable signatures, set, clone, freeze, and JSON. Row 8.3."""

import json

from celery import shared_task, signature

from ..observation import new_id, outcome


@shared_task
def sub(x, y=0, z=0):
    return [x, y, z]


def observe():
    sig = sub.s(2, z=9)
    copy = sig.clone()
    copy.set(countdown=1).options["extra"] = True
    frozen = sub.si(1)
    frozen_id = new_id()
    result = frozen.freeze(frozen_id)
    return {
        "made": [sub.s(1, z=2) == made((1,), {"z": 2}) for made in (sub.signature, sub.subtask)],
        "partial": outcome(sig.delay(1)),
        "keywords": outcome(sig.apply_async((1,), {"z": 3})),
        "immutable": outcome(sub.si(1).delay(7, y=8)),
        "inverted": ~sub.s(5),
        "set_returns_itself": sig.set(priority=None) is sig,
        "clone_is_apart": [sig.options, copy.options],
        "frozen": [result.id == frozen_id, frozen.id == frozen_id, outcome(frozen.delay())],
        "json": json.loads(json.dumps(sub.s(1, z=2))),
        "from_json": outcome(signature(json.loads(json.dumps(sub.s(1, z=2)))).delay()),
        "replaced": [sig.replace(args=(5,)).args, sig.args],
        "reprcall": sub.s(2).reprcall(1),
        "called": sub.s(2)(1),
    }
