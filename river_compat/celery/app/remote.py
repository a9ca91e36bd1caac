"""The parts of an application that speak to its workers: `app.control` and `app.events`."""

from __future__ import annotations

from functools import cached_property
from types import SimpleNamespace
from typing import Any

from river_compat.celery import events
from river_compat.celery.app.control import Control
from river_compat.celery.events.state import State


class Remote:
    """What an application says to workers, and what monitors import."""

    @cached_property
    def control(self) -> Any:
        """Commands to workers, and revokes."""
        return Control(self)

    @cached_property
    def events(self) -> Any:
        """The classes of Celery's events; receivers and dispatchers are refused when they are made."""
        return SimpleNamespace(State=State, Receiver=events.EventReceiver, Dispatcher=events.EventDispatcher)
