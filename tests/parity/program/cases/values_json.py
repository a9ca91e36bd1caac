"""JSON values keep type, order and precision on the way in and on the way back. Row 19.1."""

from celery import shared_task

from ..observation import WAIT

VALUES = [
    None,
    True,
    0,
    -1,
    2**70,
    1.0,
    -0.0,
    1e22,
    0.1,
    float("inf"),
    float("-inf"),
    "",
    "plain",
    "ünï côdé 😀",
    "nul \x00 inside",
    'quote " backslash \\ newline \n',
    [],
    {},
    [1, [2, [3, {"deep": [None, {}]}]]],
    {"z": 1, "a": 2, "m": {"b": 1, "a": 2}},
    {"": "empty key", "__x__": 1},
]


@shared_task
def echo(value):
    return [repr(value), value]


def observe():
    answers = [echo.delay(value).get(timeout=WAIT) for value in VALUES]
    return [[inside, repr(back)] for inside, back in answers]
