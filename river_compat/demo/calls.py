"""The calls that the demo makes: quick, retried, delayed and failing tasks, and two transactions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from types import ModuleType
from typing import Any

PICTURES = ("sunrise", "harbour", "forest")
WIDTHS = (120, 480, 960, 1920)
CUSTOMERS = ("ann", "bob", "cem", "dia")
DELAY_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was made, and the handle of its result."""

    text: str
    result: Any
    note: str = ""
    expected: str = "SUCCESS"

    @property
    def task(self) -> str:
        """The task's short name."""
        return self.text.partition("(")[0]

    def problem(self) -> str | None:
        """Say what is wrong with the state of the result, or None."""
        state = self.result.state
        return None if state == self.expected else f"{self.text} is {state}, not {self.expected}"


def make_calls(shop: ModuleType) -> Iterator[Call]:
    """Enqueue the demo's tasks through their ordinary Celery API, one after the other."""
    for picture in PICTURES:
        for width in WIDTHS:
            yield Call(f"resize({picture!r}, {width})", shop.resize.delay(picture, width))
    for customer in CUSTOMERS:
        yield Call(f"send_mail({customer!r}, 'News')", shop.send_mail.delay(customer, "News"))
    yield Call("charge(1, 2500)", shop.charge.delay(1, 2500), "retried after 1 s and 2 s")
    later = shop.send_mail.apply_async(("ann", "How was it?"), countdown=DELAY_SECONDS)
    yield Call("send_mail('ann', 'How was it?')", later, f"countdown={DELAY_SECONDS}")
    failing = shop.import_prices.delay(["12", "n/a"])
    yield Call("import_prices(['12', 'n/a'])", failing, "fails for good", "FAILURE")


def place_orders(shop: ModuleType, path: str) -> str:
    """Place an order that is committed and one that is rolled back; return why the second one was."""
    with closing(sqlite3.connect(path, timeout=5)) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, cents INTEGER)")
        shop.place_order(connection, "eve", 19_90)
        try:
            shop.place_order(connection, "mal", 9_999_00)
        except shop.CardRefusedError as error:
            return str(error)
    raise AssertionError("the second order should have been refused")
