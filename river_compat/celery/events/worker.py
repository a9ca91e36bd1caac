"""A worker as its events show it."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping
from time import time
from typing import Any

HEARTBEAT_EXPIRE_WINDOW = 200
"""After how many hundredths of its interval without a heartbeat a worker counts as gone."""
HEARTBEAT_DRIFT_MAX = 16
"""So many seconds two clocks may differ without a warning."""
HEARTBEATS_KEPT = 4
FREQUENCY_SECONDS = 60


def heartbeat_expires(
    timestamp: Any, freq: Any = FREQUENCY_SECONDS, expire_window: Any = HEARTBEAT_EXPIRE_WINDOW
) -> float:
    """Return when, in seconds since the epoch, a worker counts as gone that was heard at `timestamp`."""
    return float(timestamp) + float(freq) * float(expire_window) / 100.0


class Worker:
    """What is known of one worker; two of one host name are equal."""

    heartbeat_max = HEARTBEATS_KEPT
    expire_window = HEARTBEAT_EXPIRE_WINDOW
    _defaults: Mapping[str, Any] = {
        "hostname": None,
        "pid": None,
        "freq": FREQUENCY_SECONDS,
        "clock": 0,
        "active": None,
        "processed": None,
        "loadavg": None,
        "sw_ident": None,
        "sw_ver": None,
        "sw_sys": None,
    }
    _fields = (*_defaults, "heartbeats")

    hostname: Any
    pid: Any
    freq: Any
    clock: Any
    active: Any
    processed: Any
    loadavg: Any
    sw_ident: Any
    sw_ver: Any
    sw_sys: Any

    def __init__(self, hostname: str | None = None, pid: int | None = None, **fields: Any) -> None:
        """Take what is known already, by the names of the fields."""
        self.heartbeats: list[float] = list(fields.pop("heartbeats", None) or ())
        self.__dict__.update(self._defaults)
        self.update(fields, hostname=hostname, pid=pid)

    def event(
        self,
        type_: str | None,
        timestamp: Any = None,
        local_received: Any = None,
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        """Take one event: its fields, and the sign of life that it is."""
        self.update({key: value for key, value in (fields or {}).items() if key not in ("type", "timestamp")})
        if type_ == "offline":
            self.heartbeats.clear()
        elif timestamp and local_received:
            self._heard(float(timestamp), float(local_received))

    def _heard(self, timestamp: float, local_received: float) -> None:
        if abs(int(local_received) - int(timestamp)) > HEARTBEAT_DRIFT_MAX:
            self.drifted(local_received, timestamp)
        insort(self.heartbeats, local_received)
        del self.heartbeats[: -self.heartbeat_max]

    def drifted(self, local_received: float, timestamp: float) -> None:
        """Hear of a heartbeat whose clock is far from ours."""

    def update(self, f: Mapping[str, Any] = {}, **kw: Any) -> None:
        """Set fields."""
        self.__dict__.update(f, **kw)

    @property
    def heartbeat_expires(self) -> float:
        """When it counts as gone unless it is heard again."""
        return heartbeat_expires(self.heartbeats[-1], self.freq, self.expire_window)

    @property
    def alive(self) -> bool:
        """Whether it was heard lately."""
        return bool(self.heartbeats) and time() < self.heartbeat_expires

    @property
    def status_string(self) -> str:
        """ONLINE or OFFLINE."""
        return "ONLINE" if self.alive else "OFFLINE"

    @property
    def id(self) -> str:
        """Host name and process id."""
        return f"{self.hostname}.{self.pid}"

    def __eq__(self, other: object) -> bool:
        """Be equal to a worker of the same host name."""
        return self.hostname == other.hostname if isinstance(other, Worker) else NotImplemented

    def __hash__(self) -> int:
        """Hash the host name."""
        return hash(self.hostname)

    def __repr__(self) -> str:
        """Show the host name and whether it is alive."""
        return f"<{type(self).__name__}: {self.hostname} ({self.status_string})>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields."""
        return restored, (type(self), {name: getattr(self, name) for name in self._fields})


def restored(cls: type[Any], fields: Mapping[str, Any]) -> Any:
    """Make a worker again of its fields."""
    return cls(**fields)
