"""Arguments of a signature and of its call: put before, merged, or left out. Row 8.1."""

from celery import shared_task

from ..observation import outcome


@shared_task
def seen(*args, **kwargs):
    return [list(args), dict(sorted(kwargs.items()))]


def observe():
    partial, fixed = seen.s(3, b=2), seen.si(3, b=2)
    return {
        "positional": outcome(partial.delay(1, 2)),
        "keywords": outcome(partial.apply_async((), {"a": 1, "b": 9})),
        "both": outcome(partial.clone(args=(1,), kwargs={"c": 3}).apply_async((0,))),
        "immutable": outcome(fixed.delay(1, c=4)),
        "immutable clone": [list(fixed.clone(args=(1,)).args), fixed.clone(kwargs={"c": 1}).kwargs],
        "set immutable": outcome(seen.s(3).set(immutable=True).delay(1)),
        "immutable keeps options": fixed.clone(countdown=1).options,
        "called here": [partial(1), fixed()],
        "unchanged": [list(partial.args), partial.kwargs, partial.immutable, fixed.immutable],
        "in a chain": outcome((seen.s(1) | seen.s(2, b=3) | seen.si(4)).delay()),
    }
