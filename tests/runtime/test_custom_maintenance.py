"""Services of the application's own run while their client leads, and disturb no other."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from typing import Any

import pytest

from river_core.client import Client
from river_core.drivers.base import Driver
from river_core.errors import ConfigurationError
from river_core.task import Registry
from river_core.worker.elector import Elector
from river_core.worker.maintenance.custom import INTERVAL_SECONDS, CustomService
from river_core.worker.maintenance.group import MaintenanceConfig, MaintenanceServices
from tests.runtime.stored import NOW, FixedClock, put, states
from tests.runtime.workers import registry, running, wait_for


class Noting:
    """Notes each call."""

    interval = 0.05

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.called = threading.Event()

    def run(self, client: Client, driver: Driver, now: datetime) -> None:
        """Note the call."""
        self.calls.append((client, driver, now))
        self.called.set()


class Failing(Noting):
    """Notes each call and fails."""

    def run(self, client: Client, driver: Driver, now: datetime) -> None:
        """Note the call and fail."""
        super().run(client, driver, now)
        raise RuntimeError("the application's own trouble")


def test_a_service_gets_client_driver_and_time(driver: Driver) -> None:
    """As River for Ruby gives them; the next pass comes after the interval."""
    noting, client = Noting(), Client(driver)
    assert CustomService(noting, client, driver, FixedClock()).run_once() == 0.05
    assert noting.calls == [(client, driver, NOW)]


def test_the_interval_is_half_a_minute_unless_told() -> None:
    """Another one must be a time."""

    class Plain:
        def run(self, client: Client, driver: Driver, now: datetime) -> None:
            """Do nothing."""

    plain: Any = Plain()
    assert CustomService(plain, None, None).interval == INTERVAL_SECONDS  # type: ignore[arg-type]  # not used
    for interval in (0, -1, "5", True):
        plain.interval = interval
        with pytest.raises(ConfigurationError, match="interval"):
            CustomService(plain, None, None)  # type: ignore[arg-type]  # not used


def test_runs_only_while_leading(driver: Driver) -> None:
    """Nothing before the election and nothing after the stop. Checklist 146."""
    noting = Noting()
    services = MaintenanceServices(driver, Registry(), MaintenanceConfig(custom=[noting]))
    elector = Elector(driver, "one", None, services.start, services.stop)
    assert noting.calls == []
    elector.start()
    try:
        assert noting.called.wait(60)
    finally:
        elector.stop()
    assert not services.running
    count = len(noting.calls)
    noting.called.clear()
    assert not noting.called.wait(0.2), "a wait for something that must not come"
    assert len(noting.calls) == count


def test_a_service_that_does_not_end_keeps_nobody_from_leading(sqlite_driver: Driver) -> None:
    """It is left out of the next term; everything else starts."""
    release = threading.Event()

    class Hanging(Noting):
        def run(self, client: Client, driver: Driver, now: datetime) -> None:
            """Wait for longer than a term."""
            super().run(client, driver, now)
            assert release.wait(60)

    hanging = Hanging()
    services = MaintenanceServices(sqlite_driver, Registry(), MaintenanceConfig(custom=[hanging]))
    services.start()
    try:
        assert hanging.called.wait(60)
        assert not services.stop(0.1)
        services.start()
        assert services.scheduler.alive
        assert not services.scheduler.stopping
        assert len(hanging.calls) == 1
    finally:
        release.set()
        assert services.stop(30)


def test_a_failing_service_is_tried_again_and_stops_no_other(driver: Driver) -> None:
    """The cleaner and another service go on. Checklist 146."""
    old = datetime.now(NOW.tzinfo) - timedelta(days=2)
    finished = put(driver, state="completed", finalized_at=old)
    failing, noting = Failing(), Noting()
    tasks = registry(known=lambda job: None)
    with running(driver, tasks, maintenance_services=[failing, noting]) as worker:
        wait_for(lambda: len(failing.calls) >= 2 and noting.calls, "passes of both services")
        wait_for(lambda: states(driver, finished) == ["gone"], "the cleaner's pass")
        assert noting.calls[0][:2] == (worker.client, driver)
