"""How receivers are connected, called and disconnected. Rows 13.1, 13.16."""

import gc

from celery import signals
from celery.utils.dispatch import Signal

from ..observation import raised, shown

MORE = {"pid", "exitcode", "sig", "how", "state", "headers"}
"""Arguments that are given, and that Celery does not list everywhere."""


def good(value=None, **kwargs):
    return value


def bad(**kwargs):
    raise ValueError("receiver")


class Listener:
    def hear(self, value=None, **kwargs):
        return [value]


def only_sender(sender):
    return sender


def answers(signal, sender, value):
    return [shown(answer) for _, answer in signal.send(sender, value=value)]


def observe():
    signal = Signal(name="mine", providing_args={"value"})
    signal.connect(bad)
    signal.connect(good)
    signal.connect(good)
    signal.connect(good, sender="one")
    seen = {"all": answers(signal, "other", 1), "one": answers(signal, "one", 2)}
    signal.connect(good, dispatch_uid="uid")
    signal.connect(bad, dispatch_uid="uid")
    seen["uid"] = answers(signal, "other", 3)
    seen["gone"] = [signal.disconnect(dispatch_uid="uid"), signal.disconnect(bad), signal.disconnect(bad)]
    listener = Listener()
    signal.connect(listener.hear)
    seen["method"] = answers(signal, "other", 4)
    del listener
    gc.collect()
    seen["without"] = answers(signal, "other", 5)
    seen["listeners"] = [signal.has_listeners("one"), Signal().has_listeners()]
    seen["refused"] = raised(signal.connect, only_sender)["error"]
    mine = {name: found for name, found in vars(signals).items() if isinstance(found, Signal)}
    seen["arguments"] = {name: sorted(mine[name].providing_args - MORE) for name in sorted(mine)}
    return seen
