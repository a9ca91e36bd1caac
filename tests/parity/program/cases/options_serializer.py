"""Serializers of a task and of a call: which wins, and what comes through. Rows 2.10, 3.12."""

from celery import shared_task
from kombu.exceptions import SerializerNotInstalled

from ..observation import outcome, raised


@shared_task
def shows(value):
    return repr(value)


@shared_task(serializer="yaml")
def shows_yaml(value):
    return repr(value)


@shared_task(serializer="msgpack")
def shows_msgpack(value):
    return repr(value)


def unknown():
    try:
        shows.apply_async((1,), serializer="no-such-serializer")
    except SerializerNotInstalled as error:
        return str(error)
    return None


def observe():
    value = {1: "one"}
    return {
        "default": outcome(shows.delay(value)),
        "yaml_task": outcome(shows_yaml.delay(value)),
        "msgpack_task": outcome(shows_msgpack.delay({"x": b"\xff\x00"})),
        "call_wins": outcome(shows_yaml.apply_async((value,), serializer="json")),
        "call": outcome(shows.apply_async((b"\xff",), serializer="msgpack")),
        "cannot": raised(shows_msgpack.delay, object())["error"],
        "unknown": unknown(),
    }
