"""A small shop whose slow work runs in the background. But for one import, it is ordinary Celery code.

river-compat -A shop worker -l INFO
"""

import sqlite3
import time

import river_core
from river_compat.celery import Celery, Task

app = Celery("shop", broker="sqlite:///river.sqlite3")


class GatewayBusyError(Exception):
    """The payment provider asks us to try again later."""


class CardRefusedError(Exception):
    """The customer's card was refused."""


@app.task
def resize(picture: str, width: int) -> str:
    """Pretend to scale a picture."""
    time.sleep(0.1)
    return f"{picture}-{width}px"


@app.task
def send_mail(to: str, subject: str) -> str:
    """Pretend to send a mail."""
    time.sleep(0.2)
    return f"{subject!r} to {to}"


@app.task(bind=True, autoretry_for=(GatewayBusyError,), retry_backoff=1, retry_jitter=False, max_retries=3)
def charge(self: Task, order: int, cents: int) -> str:
    """Charge a card. The provider is busy the first two times: retried after 1 second, then after 2."""
    if self.request.retries < 2:
        raise GatewayBusyError(f"order {order}: the provider is busy")
    return f"{cents / 100:.2f} charged for order {order}"


@app.task
def import_prices(lines: list[str]) -> int:
    """Add up prices. A line that is no number fails the task for good."""
    return sum(int(line) for line in lines)


def place_order(connection: sqlite3.Connection, customer: str, cents: int) -> None:
    """Store an order and enqueue its mail in one transaction: both happen, or neither.

    Raises CardRefusedError for more than 500.00.
    """
    with connection, river_core.join(connection):
        connection.execute("INSERT INTO orders (customer, cents) VALUES (?, ?)", (customer, cents))
        send_mail.delay(customer, "Thank you for your order")
        if cents > 500_00:
            raise CardRefusedError(f"the card of {customer} was refused")
