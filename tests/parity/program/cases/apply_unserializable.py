"""Arguments that JSON cannot hold are refused in the caller, with kombu's EncodeError. Rows 3.22, 19.7."""

from celery import shared_task
from kombu.exceptions import EncodeError

from ..observation import shown


@shared_task
def anything(value):
    return value


def attempt(value):
    try:
        anything.delay(value)
    except EncodeError as error:
        return shown(error)["error"]
    return "sent"


class Own:
    pass


def observe():
    return {
        "object": attempt(Own()),
        "nested": attempt({"a": [Own()]}),
        "function": attempt(observe),
        "complex": attempt(1j),
    }
