"""The River side of one adapter application in one process: driver, client, result waiter.

Nothing connects before it is used. After a fork the driver opens new connections by itself, and the
waiter starts a thread of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from river_compat.waiting import ResultWaiter
from river_core.client import Client
from river_core.drivers.base import Driver
from river_core.forking import in_forked_child
from river_core.trailing import TrailingNotifications


class Runtime:
    """Driver, client and waiter of one application, made at the first use."""

    def __init__(
        self,
        open_driver: Callable[[], Driver],
        lenient_queue_names: Callable[[], bool],
        poll_only: Callable[[], bool],
        notify_inserts: Callable[[], bool],
        durable_inserts: Callable[[], bool],
        plugins: Callable[[], Sequence[object]],
    ) -> None:
        """Take the function that makes the driver, which may raise ConfigurationError, and ones that say
        whether queue names are taken that River's other clients refuse, whether never to listen, whether
        inserts are announced, whether their commits wait for the disk, and which plugins are around them."""
        self._open_driver = open_driver
        self._lenient_queue_names = lenient_queue_names
        self._poll_only = poll_only
        self._notify_inserts = notify_inserts
        self._durable_inserts = durable_inserts
        self._plugins = plugins
        self._renew_lock()
        in_forked_child(self._renew_lock)
        self._driver: Driver | None = None
        self._client: Client | None = None
        self._waiter: ResultWaiter | None = None

    def _renew_lock(self) -> None:
        self._lock = threading.Lock()

    @property
    def driver(self) -> Driver:
        """The application's database."""
        driver = self._driver
        if driver is None:
            with self._lock:
                driver = self._driver = self._driver or self._open_driver()
        return driver

    @property
    def client(self) -> Client:
        """The client that inserts the application's rows."""
        client = self._client
        if client is None:
            driver = self.driver
            with self._lock:
                client = self._client = self._client or Client(
                    driver,
                    lenient_queue_names=self._lenient_queue_names(),
                    trailing=TrailingNotifications(driver),
                    notify_inserts=self._notify_inserts(),
                    durable_inserts=self._durable_inserts(),
                    plugins=self._plugins(),
                )
        return client

    @property
    def waiter(self) -> ResultWaiter:
        """What wakes those who wait for results."""
        waiter = self._waiter
        if waiter is None:
            driver = self.driver
            with self._lock:
                waiter = self._waiter = self._waiter or ResultWaiter(driver, self._poll_only())
        return waiter

    def close(self) -> None:
        """Close everything; a later use opens it again."""
        with self._lock:
            waiter, self._waiter = self._waiter, None
            driver, self._driver = self._driver, None
            self._client = None
        if waiter is not None:
            waiter.close()
        if driver is not None:
            driver.close()
