"""Celery's solar schedules: sunrise, dusk and the like, computed by the package ephem."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any

from river_compat.celery.exceptions import ImproperlyConfigured
from river_compat.celery.schedule_base import BaseSchedule
from river_compat.celery.utils.time import subtract_datetimes, timezone

NO_EPHEM = "solar schedules need the package ephem: pip install ephem (Celery's extra is celery[solar])"
TWILIGHTS = {"astronomical": "-18", "nautical": "-12", "civil": "-6"}


@dataclass(frozen=True, slots=True)
class Event:
    """How ephem finds an event: its method, the sun's height, and whether its centre or its edge counts."""

    method: str
    horizon: str
    use_center: bool


EVENTS = {
    "sunrise": Event("next_rising", "-0:34", False),
    "solar_noon": Event("next_transit", "0", False),
    "sunset": Event("next_setting", "-0:34", False),
    **{f"dawn_{kind}": Event("next_rising", height, True) for kind, height in TWILIGHTS.items()},
    **{f"dusk_{kind}": Event("next_setting", height, True) for kind, height in TWILIGHTS.items()},
}


class solar(BaseSchedule):  # noqa: N801 - the name is Celery's
    """Runs at each `event` of the sun at a place, given in degrees."""

    _all_events = frozenset(EVENTS)
    _methods = {name: event.method for name, event in EVENTS.items()}  # noqa: RUF012 - Celery's attribute
    _horizons = {name: event.horizon for name, event in EVENTS.items()}  # noqa: RUF012
    _use_center_l = {name: event.use_center for name, event in EVENTS.items()}  # noqa: RUF012

    max_search_days = 366
    """How many days are looked at for an event that does not happen each day."""

    def __init__(self, event: str, lat: float, lon: float, **kwargs: Any) -> None:
        """Take one of nine events; raises ImproperlyConfigured without ephem, ValueError for bad values."""
        try:
            self.ephem: Any = import_module("ephem")
        except ImportError as error:
            raise ImproperlyConfigured(NO_EPHEM) from error
        super().__init__(**kwargs)
        _check(event, lat, lon)
        self.event = event
        self.lat = lat
        self.lon = lon
        self.method = self._methods[event]
        self.use_center = self._use_center_l[event]
        self.cal: Any = self.ephem.Observer()
        self.cal.lat, self.cal.lon = str(lat), str(lon)
        self.cal.elev = self.cal.pressure = 0
        self.cal.horizon = self._horizons[event]

    def remaining_estimate(self, last_run_at: datetime) -> timedelta:
        """Return how long it is until the first event after `last_run_at`; negative when it has passed."""
        start = self.maybe_make_aware(last_run_at).astimezone(timezone.utc)
        self.cal.date = start
        moment = self._next_event(self.ephem.Date(start)).datetime()
        return subtract_datetimes(moment, self.elapsed_now())

    def _next_event(self, start: Any) -> Any:
        """Return ephem's date of the event; without one for a year, that of the last day looked at."""
        sun = self.ephem.Sun()
        options = {"use_center": True} if self.use_center else {}
        for _ in range(self.max_search_days):
            try:
                return getattr(self.cal, self.method)(sun, start=start, **options)
            except self.ephem.CircumpolarError:
                start = self.cal.next_antitransit(sun, start=start)
        return start

    def is_due(self, last_run_at: datetime) -> tuple[bool, float]:
        """Return whether the event has passed since `last_run_at`, and how many seconds the next is away."""
        return self.due_or_wait(last_run_at)

    def __repr__(self) -> str:
        """Show event and place."""
        return f"<solar: {self.event} at latitude {self.lat}, longitude: {self.lon}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle event and place."""
        return type(self), (self.event, self.lat, self.lon)

    def __eq__(self, other: object) -> bool:
        """Compare event and place."""
        if not isinstance(other, solar):
            return NotImplemented
        return (other.event, other.lat, other.lon) == (self.event, self.lat, self.lon)

    __hash__ = None


def _check(event: str, lat: float, lon: float) -> None:
    if event not in EVENTS:
        raise ValueError(f"no solar event is named {event!r}; use one of {', '.join(sorted(EVENTS))}")
    if not -90 <= lat <= 90:
        raise ValueError(f"the latitude {lat} is not between -90 and 90")
    if not -180 <= lon <= 180:
        raise ValueError(f"the longitude {lon} is not between -180 and 180")
