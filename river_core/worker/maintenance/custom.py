"""Maintenance of the application's own, run while this client leads.

River for Ruby calls it maintenance_services.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol, runtime_checkable

from river_core.client import Client
from river_core.clock import Clock, SystemClock
from river_core.drivers.base import Driver
from river_core.errors import ConfigurationError
from river_core.worker.maintenance.service import LeaderService

INTERVAL_SECONDS = 30.0


@runtime_checkable
class MaintenanceTask(Protocol):
    """What an application gives in `maintenance_services`.

    An attribute `interval` tells the seconds from one pass to the next; without it there are 30.
    """

    def run(self, client: Client, driver: Driver, now: datetime) -> None:
        """Make one pass. What it raises is logged, and the next pass comes after the interval."""
        ...


class CustomService(LeaderService):
    """Runs one such service, in a thread of its own, so that it disturbs no other."""

    def __init__(
        self, service: MaintenanceTask, client: Client, driver: Driver, clock: Clock | None = None
    ) -> None:
        """Call `service` with `client` and `driver`; raises ConfigurationError for an unusable one."""
        super().__init__(f"river-{type(service).__name__}")
        self._service = service
        self._client = client
        self._driver = driver
        self._clock = clock or SystemClock()
        self.interval = interval_of(service)
        self.error_delay = self.interval

    def run_once(self) -> float:
        """Make one pass."""
        self._service.run(self._client, self._driver, self._clock.now())
        return self.interval


def interval_of(service: MaintenanceTask) -> float:
    """Return the seconds between two passes; raises ConfigurationError for what is no service."""
    if not isinstance(service, MaintenanceTask):
        raise ConfigurationError(f"a maintenance service has run(client, driver, now); {service!r} has not")
    interval = getattr(service, "interval", INTERVAL_SECONDS)
    if isinstance(interval, bool) or not isinstance(interval, int | float) or not interval > 0:
        raise ConfigurationError(f"interval of {service!r} must be more than 0 seconds, not {interval!r}")
    return float(interval)
