"""What a beat answers to `inspect ping`, so that a probe can see whether it still ticks."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from river_compat import codec
from river_compat.celery.app.inspecting import is_meant
from river_compat.celery.app.mailbox import answer
from river_compat.celery.refused_names import lacking
from river_compat.celery.remote_names import requests
from river_compat.celery.scheduler import DEFAULT_MAX_INTERVAL
from river_compat.celery.utils.nodenames import gethostname, host_format, nodename, nodesplit
from river_compat.celery.ways_out import NO_BROKER
from river_core.errors import RiverError
from river_core.standing import StandingRows

if TYPE_CHECKING:
    from river_compat.celery.beat_service import Service

NODENAME_DEFAULT = "celerybeat"
POLL_SECONDS = 0.3
JOIN_SECONDS = 3.0

logger = logging.getLogger("celery.beat")


def beat_nodename(hostname: str | None = None) -> str:
    """Return the name that a beat answers to: `celerybeat@<host>` unless `hostname` says another."""
    name, host = nodesplit(hostname or "")
    return host_format(nodename(name or NODENAME_DEFAULT, host or gethostname()))


@dataclass(frozen=True, slots=True)
class BeatNode:
    """The name of a beat, and what it answers to which command."""

    hostname: str
    handlers: Mapping[str, Callable[..., Any]] = field(default_factory=dict)


@lacking(NO_BROKER, "fanout_support join_timeout on_message retry_interval")
class BeatPidbox:
    """Answers pings while the scheduler ticks; a beat that stands still says nothing."""

    min_tick_age = 60.0

    def __init__(self, service: Service) -> None:
        """Answer for a service."""
        self.service = service
        self.app = service.app
        self.hostname = beat_nodename(service.hostname)
        self.state = {"app": self.app, "service": service}
        self.thread: Thread | None = None
        self._shutdown = Event()
        self._seen: set[str] | None = None
        self.node = BeatNode(self.hostname, {"ping": self._ping})

    @property
    def max_tick_age(self) -> float:
        """For how many seconds the scheduler may be silent; 0 is without limit."""
        configured = self.app.conf.beat_remote_control_max_tick_age
        if configured is not None:
            return float(configured)
        service = self.service
        interval = service.effective_max_interval or service.max_interval or DEFAULT_MAX_INTERVAL
        return float(max(interval * 2, self.min_tick_age))

    def tick_age(self) -> float | None:
        """Return for how many seconds the scheduler has been silent, None before its first turn."""
        last = self.service._last_tick
        return None if last is None else time.monotonic() - last

    def is_stale(self) -> bool:
        """Whether the scheduler has been silent for too long."""
        age, limit = self.tick_age(), self.max_tick_age
        return bool(limit) and age is not None and age > limit

    def _ping(self, state: Any, **_arguments: Any) -> dict[str, str]:
        del state
        return {"ok": "pong"}

    def start(self) -> None:
        """Begin to answer, in a thread of its own; harmless while it runs."""
        if self.thread is not None and self.thread.is_alive():
            return
        self._shutdown.clear()
        self._seen = None
        self.thread = Thread(target=self._loop, name="BeatPidbox", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Answer no more; harmless twice."""
        self._shutdown.set()
        if self.thread is not None:
            self.thread.join(JOIN_SECONDS)
            self.thread = None

    def _loop(self) -> None:
        while not self._shutdown.is_set():
            try:
                self._look()
            except RiverError as error:
                logger.warning("beat: questions cannot be read, trying again: %s", error)
            self._shutdown.wait(POLL_SECONDS)

    def _look(self) -> None:
        """Answer what is new; what was asked before this beat first looked is not answered."""
        found = StandingRows(self.app.runtime.driver).find(requests(self._namespace))
        new = [row for row in found if row.key not in self._seen] if self._seen is not None else []
        self._seen = {row.key for row in found}
        for row in new:
            self._answer(codec.decode(row.value, codec.JSON_TYPE, "utf-8", codec.ACCEPT_JSON))

    def _answer(self, request: Mapping[str, Any]) -> None:
        """Answer what is meant for a beat; other commands are for workers and pass in silence."""
        handler = self.node.handlers.get(request["method"])
        if handler is None or not request.get("reply") or not is_meant(request, self.hostname):
            return
        if self.is_stale():
            logger.warning("beat: no answer to %s: no turn for %.1f s", request["method"], self.tick_age())
            return
        reply = handler(self.state, **request["arguments"])
        answer(self.app.runtime.driver, self._namespace, request["ticket"], self.hostname, reply)

    @property
    def _namespace(self) -> str:
        return str(self.app.conf.get("control_exchange", "celery"))
