"""Zones and aware times: what `celery.utils.time` says of them, and which wall times exist when.

A naive time is UTC. A wall time that a clock change skips is moved forward by the change; one that comes
twice is the first of the two.
"""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime, timedelta, tzinfo
from datetime import timezone as fixed_zone
from functools import cached_property
from zoneinfo import ZoneInfo

from tzlocal import get_localzone

from river_core.schedule import instants

DAY = timedelta(days=1)

logger = logging.getLogger(__name__)


def is_naive(dt: datetime) -> bool:
    """Whether a time does not say its offset."""
    return dt.tzinfo is None or dt.tzinfo.utcoffset(dt) is None


class LocalTimezone(tzinfo):
    """The zone of this machine, as the C library knows it."""

    def __init__(self) -> None:
        """Read the two offsets of the machine's zone."""
        self.STDOFFSET = timedelta(seconds=-time.timezone)
        self.DSTOFFSET = timedelta(seconds=-time.altzone) if time.daylight else self.STDOFFSET
        self.DSTDIFF = self.DSTOFFSET - self.STDOFFSET

    def __repr__(self) -> str:
        """Show the names of the zone."""
        return f"<LocalTimezone: {'/'.join(time.tzname)}>"

    def utcoffset(self, dt: datetime | None) -> timedelta:
        """Return the offset that counts at a wall time."""
        return self.DSTOFFSET if self._isdst(dt) else self.STDOFFSET

    def dst(self, dt: datetime | None) -> timedelta:
        """Return by how much the clock is put forward at a wall time."""
        return self.DSTDIFF if self._isdst(dt) else timedelta(0)

    def tzname(self, dt: datetime | None) -> str:
        """Return the zone's abbreviation at a wall time."""
        return time.tzname[self._isdst(dt)]

    def fromutc(self, dt: datetime) -> datetime:
        """Return the local time of a time that is UTC; its zone is the offset that counts then."""
        zone = fixed_zone(self.utcoffset(dt))
        return zone.fromutc(dt.replace(tzinfo=zone))

    def _isdst(self, dt: datetime | None) -> bool:
        if dt is None:
            return False
        clock = (dt.year, dt.month, dt.day, dt.hour, dt.minute, dt.second)
        stamp = time.mktime((*clock, dt.weekday(), 0, 0))
        return time.localtime(stamp).tm_isdst > 0


class Zone:
    """Celery's `timezone`: zones by name, UTC, and the machine's own."""

    @cached_property
    def utc(self) -> tzinfo:
        """UTC."""
        return ZoneInfo("UTC")

    @cached_property
    def local(self) -> tzinfo:
        """The zone of this machine."""
        try:
            return get_localzone()
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the machine's settings
            logger.warning("the zone of this machine is not known: %s", error)
            return LocalTimezone()

    def get_timezone(self, zone: str | tzinfo) -> tzinfo:
        """Return a zone by its name; one that is a zone already is returned as it is."""
        return ZoneInfo(zone) if isinstance(zone, str) else zone

    def tz_or_local(self, tzinfo: str | tzinfo | None = None) -> tzinfo:
        """Return a zone by its name, or the machine's for None."""
        return self.local if tzinfo is None else self.get_timezone(tzinfo)

    def to_local(
        self, dt: datetime, local: str | tzinfo | None = None, orig: tzinfo | None = None
    ) -> datetime:
        """Return a time in the zone `local`; a naive one is in `orig`, UTC by default."""
        aware = make_aware(dt, orig or self.utc) if is_naive(dt) else dt
        return localize(aware, self.tz_or_local(local))

    def to_system(self, dt: datetime) -> datetime:
        """Return a time in the machine's zone, by the offset that counts then."""
        return dt.astimezone(tz=None)

    def to_local_fallback(self, dt: datetime) -> datetime:
        """Return a time in the machine's zone; a naive one is in it already."""
        return make_aware(dt, self.local) if is_naive(dt) else localize(dt, self.local)


timezone = Zone()


def occurrences(wall: datetime) -> list[datetime]:
    """Return, in UTC and in order, when a wall clock shows a time: never, once or twice.

    The zone is that of `wall`, whose `fold` does not matter.
    """
    return instants(wall.replace(tzinfo=None, fold=0), wall.tzinfo or UTC)


def after_gap(wall: datetime) -> datetime:
    """Return, in UTC, the time that a wall time is moved to which a clock change skips."""
    before, after = (wall - DAY).utcoffset(), (wall + DAY).utcoffset()
    if before is None or after is None or after <= before:
        return wall.astimezone(UTC)
    return wall.replace(tzinfo=fixed_zone(before)).astimezone(UTC)


def make_aware(dt: datetime, tz: tzinfo) -> datetime:
    """Put a wall time into a zone."""
    wall = dt.replace(tzinfo=tz, fold=0)
    if not _tells_changes(tz) or is_naive(wall) or occurrences(wall):
        return wall
    return after_gap(wall).astimezone(tz)


def _tells_changes(tz: tzinfo) -> bool:
    return isinstance(tz, ZoneInfo) or hasattr(tz, "is_ambiguous")


def localize(dt: datetime, tz: tzinfo) -> datetime:
    """Return a time that is naive, or in UTC, in a zone; one that has another zone keeps it."""
    if is_naive(dt):
        return make_aware(dt, tz)
    return dt.astimezone(tz) if dt.tzinfo in (UTC, timezone.utc) else dt


def to_utc(dt: datetime) -> datetime:
    """Return a naive time as UTC."""
    return make_aware(dt, timezone.utc)


def maybe_make_aware(dt: datetime, tz: str | tzinfo | None = None, naive_as_utc: bool = True) -> datetime:
    """Return a naive time in the zone `tz`, UTC by default; an aware one as it is.

    A naive time is UTC, or with `naive_as_utc` False a wall time of that zone.
    """
    if not is_naive(dt):
        return dt
    zone = timezone.utc if tz is None else timezone.get_timezone(tz)
    return localize(to_utc(dt) if naive_as_utc else dt, zone)
