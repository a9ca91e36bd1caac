"""What a beat answers to `inspect ping`, so that a probe can see whether it still ticks."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from river_compat.celery.scheduler import DEFAULT_MAX_INTERVAL
from river_compat.celery.utils.nodenames import gethostname, host_format, nodename, nodesplit

if TYPE_CHECKING:
    from river_compat.celery.beat_service import Service

NODENAME_DEFAULT = "celerybeat"

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


class BeatPidbox:
    """Answers pings while the scheduler ticks; a beat that stands still says nothing."""

    min_tick_age = 60.0

    def __init__(self, service: Service) -> None:
        """Answer for a service."""
        self.service = service
        self.app = service.app
        self.hostname = beat_nodename(service.hostname)
        self.state = {"app": self.app, "service": service}
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
        """Say that nothing can ask this beat yet."""
        logger.warning("beat: remote control does not reach a beat yet; %s does not answer", self.hostname)

    def stop(self) -> None:
        """Answer no more."""
