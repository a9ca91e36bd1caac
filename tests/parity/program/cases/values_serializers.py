"""Serializers by name: kombu's own, one of the application's, and types that it has added to JSON.

Rows 19.3, 19.4, 19.5.
"""

import json
from datetime import date

from kombu.serialization import register
from kombu.utils.json import register_type

from ..observation import new_id, outcome, raised
from ..own import application, working


class Money:
    def __init__(self, cents):
        self.cents = cents

    def __eq__(self, other):
        return isinstance(other, Money) and other.cents == self.cents

    def __repr__(self):
        return f"Money({self.cents})"


register_type(Money, "parity-money", lambda money: money.cents, Money)
register(
    "parity-reversed",
    lambda value: json.dumps(value)[::-1],
    lambda text: json.loads(text[::-1]),
    content_type="application/x-parity-reversed",
    content_encoding="utf-8",
)
VALUES = {
    "json": Money(5),
    "pickle": {1, 2},
    "yaml": date(2026, 2, 3),
    "msgpack": {"a": [1, 2.5, None]},
    "parity-reversed": {"a": [1, 2.5, None]},
}


def observe():
    app = application(
        task_default_queue=new_id(),
        accept_content=[*VALUES, "application/x-parity-reversed"],
        result_accept_content=list(VALUES),
        set_as_current=False,
    )

    @app.task(name="serializers.same", bind=True)
    def same(self, value, *others):
        return [repr(value), type(value).__name__, list(others)]

    @app.task(name="serializers.money")
    def money():
        return Money(7)

    with working(app):
        seen = {
            name: outcome(same.apply_async((value, name), serializer=name)) for name, value in VALUES.items()
        }
        seen["returned"] = outcome(money.delay())
    seen["unknown"] = raised(same.apply_async, (1,), serializer="no-such-serializer")["error"]
    seen["not by json"] = raised(same.apply_async, ({1, 2},), serializer="json")["error"]
    return seen
