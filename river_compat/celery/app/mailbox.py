"""Carries commands to workers and their replies back: standing rows, and notifications that name them.

What is asked and answered stands in rows for a minute; any role can hear a notification, so those hold keys.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from kombu.exceptions import EncodeError, OperationalError

from river_compat import codec
from river_compat.celery.remote_names import KEPT_SECONDS, TOPIC, TOPIC_REPLY, replies, requests
from river_core import errors
from river_core.drivers.base import Driver
from river_core.notifier import Notifier, notify
from river_core.standing import StandingRow, StandingRows

POLL_SECONDS = 0.05
LISTENING_POLL_SECONDS = 0.5

Reply = dict[str, Any]
logger = logging.getLogger(__name__)


class Mailbox:
    """What `app.control` sends by. Called with a connection it returns itself: there is only the database."""

    def __init__(
        self,
        app: Any,
        namespace: str,
        *,
        accept: Any = None,
        serializer: Any = None,
        queue_durable: bool = False,
        queue_exclusive: bool = True,
    ) -> None:
        """Speak to the workers of one namespace (`control_exchange`); the queue's options have no effect."""
        self.app = app
        self.namespace = namespace
        self.accept = accept
        self.serializer = serializer
        self.queue_durable = queue_durable
        self.queue_exclusive = queue_exclusive
        self._producer_pool: Any = None

    def __call__(self, connection: Any = None) -> Mailbox:
        """Return itself."""
        return self

    @property
    def producer_pool(self) -> Any:
        """What `app.amqp` says of producers; nothing here sends by it."""
        if self._producer_pool is None:
            self._producer_pool = self.app.amqp.producer_pool
        return self._producer_pool

    def after_fork(self) -> None:
        """Forget what belongs to the parent."""
        self._producer_pool = None

    def _broadcast(
        self,
        command: str,
        arguments: Mapping[str, Any] | None = None,
        destination: Sequence[str] | str | None = None,
        reply: bool = False,
        timeout: float | None = 1.0,
        limit: int | None = None,
        callback: Callable[[Reply], Any] | None = None,
        channel: Any = None,
        pattern: str | None = None,
        matcher: str | None = None,
    ) -> list[Reply] | None:
        """Send a command; with `reply` return what workers answer within `timeout` seconds.

        It ends earlier once `limit` replies are there, or one of each destination. Raises kombu's
        OperationalError, and EncodeError for arguments that are no JSON.
        """
        del channel
        names = [destination] if isinstance(destination, str) else list(destination or ())
        ticket = str(uuid.uuid4())
        request = {
            "ticket": ticket,
            "method": command,
            "arguments": dict(arguments or {}),
            "destination": names or None,
            "pattern": pattern,
            "matcher": matcher,
            "reply": reply,
        }
        text = codec.encode(request, "json").text
        try:
            if not reply:
                self._send(ticket, text)
                return None
            return self._ask(ticket, text, timeout, limit or len(names) or None, callback)
        except errors.OperationalError as error:
            raise OperationalError(str(error)) from error

    def _send(self, ticket: str, text: str) -> int:
        driver: Driver = self.app.runtime.driver
        key = f"{requests(self.namespace)}{ticket}"
        row_id = StandingRows(driver).put(key, text, KEPT_SECONDS)
        notify(driver, TOPIC, [{"request": key}])
        return row_id

    def _ask(
        self,
        ticket: str,
        text: str,
        timeout: float | None,
        enough: int | None,
        callback: Callable[[Reply], Any] | None,
    ) -> list[Reply]:
        rows = StandingRows(self.app.runtime.driver)
        seen: dict[int, Reply] = {}
        with self._listening(ticket) as (arrived, pause):
            sent = self._send(ticket, text)
            until = time.monotonic() + (1.0 if timeout is None else timeout)
            while True:
                for row in rows.find(replies(self.namespace, ticket)):
                    if row.id not in seen:
                        seen[row.id] = _read(row)
                        if callback is not None:
                            callback(seen[row.id])
                left = until - time.monotonic()
                if left <= 0 or (enough is not None and len(seen) >= enough):
                    break
                arrived.wait(min(left, pause))
                arrived.clear()
        rows.delete([sent, *seen])
        return list(seen.values())[:enough]

    @contextmanager
    def _listening(self, ticket: str) -> Iterator[tuple[threading.Event, float]]:
        """Give an event that is set when a reply may be there, and how long to wait for it at most."""
        event = threading.Event()
        if self.app.conf.river_poll_only:
            yield event, POLL_SECONDS
            return
        notifier = Notifier(self.app.runtime.driver, (TOPIC_REPLY,), name="river-replies")
        notifier.subscribe(
            TOPIC_REPLY, lambda payload: event.set() if payload.get("ticket") == ticket else None
        )
        try:
            notifier.start()
        except errors.DatabaseError as error:
            logger.debug("replies are polled for: %s", error)
            yield event, POLL_SECONDS
            return
        try:
            yield event, LISTENING_POLL_SECONDS
        finally:
            notifier.stop()


def answer(driver: Driver, namespace: str, ticket: str, hostname: str, reply: Any) -> None:
    """Write a worker's reply and tell the caller; what is no JSON is answered as an error."""
    try:
        text = codec.encode({hostname: reply}, "json").text
    except EncodeError as error:
        text = json.dumps({hostname: {"error": f"the reply is no JSON: {error}"}})
    StandingRows(driver).put(f"{replies(namespace, ticket)}{hostname}", text, KEPT_SECONDS)
    notify(driver, TOPIC_REPLY, [{"ticket": ticket}])


def _read(row: StandingRow) -> Reply:
    reply: Reply = codec.decode(row.value, codec.JSON_TYPE, "utf-8", codec.ACCEPT_JSON)
    return reply
