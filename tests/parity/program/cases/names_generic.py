"""Classes that type annotations take parameters of are what they were. Row 22.6."""

from typing import get_origin

from celery import Signature, Task, group, shared_task
from celery.result import AsyncResult, EagerResult

from ..observation import outcome, raised


@shared_task
def add(x: int, y: int) -> int:
    return x + y


class Base(Task[[int, int], int]):
    """A task class with types."""


@shared_task(base=Base)
def typed(x: int, y: int) -> int:
    return x + y


def observe():
    result: AsyncResult[int] = add.delay(1, 2)
    made: Signature[int] = add.s(1, 2)
    seen = {"result": outcome(result), "signature": outcome(made.delay()), "base": outcome(typed.delay(1, 2))}
    names = {}
    for kind in (AsyncResult, EagerResult, Signature, Task, group):
        told = raised(lambda kind=kind: kind[int])
        names[kind.__name__] = told.get("error", "taken")
    seen["origin"] = get_origin(AsyncResult[int]) in (AsyncResult, None)
    return {
        **seen,
        "names": names,
        "isinstance": [isinstance(result, AsyncResult), isinstance(made, Signature)],
    }
