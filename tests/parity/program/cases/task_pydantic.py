"""Models in and out of tasks with `pydantic=True`. Row 2.24."""

from celery import shared_task
from pydantic import BaseModel

from ..observation import outcome


class Order(BaseModel):
    number: int


class Receipt(BaseModel):
    number: int
    paid: bool = True


@shared_task(pydantic=True)
def pay(order: Order, note: str = "") -> Receipt:
    return Receipt(number=order.number + len(note))


@shared_task(pydantic=True)
def plain(x: int) -> int:
    return x


def observe():
    return {
        "dict": outcome(pay.delay({"number": 1}, note="abc")),
        "model": outcome(pay.delay(Order(number=5))),
        "keyword": outcome(pay.apply_async(kwargs={"order": Order(number=6)})),
        "plain": outcome(plain.delay(3)),
        "called": pay({"number": 2}),
        "bad": outcome(pay.delay({"number": "x"}))["state"],
    }
