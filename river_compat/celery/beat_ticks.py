"""When each entry of a beat last ran, in standing rows, so that several beats send each tick once.

There is one row for each application and entry. A tick inserts the task and moves that row in one
transaction; a beat that finds the row moved on already leaves the tick to the one that moved it.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import river_core.ambient
from river_core.standing import StandingRows, change_on

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

PREFIX = "beat"
KEPT_SECONDS = 400 * 86400.0
"""A row goes when its entry has not run for so long; one that is yearly must stay."""
LONGEST_NAME = 400

logger = logging.getLogger("celery.beat")


@dataclass(frozen=True, slots=True)
class LastRun:
    """When an entry last ran, how often it has, and the zone that its schedule was in."""

    at: datetime
    runs: int
    zone: str

    def encode(self) -> str:
        """Return the text that a row keeps."""
        return json.dumps({**asdict(self), "at": self.at.astimezone(UTC).isoformat()})

    @classmethod
    def decode(cls, text: str | None) -> LastRun | None:
        """Read a row's text; None for none, and for what somebody else made of it."""
        if text is None:
            return None
        try:
            value = json.loads(text)
            at = datetime.fromisoformat(value["at"]).astimezone(UTC)
            return cls(at, int(value["runs"]), str(value["zone"]))
        except (ValueError, TypeError, KeyError):
            logger.warning(
                "beat: the last run of an entry cannot be read and counts as unknown: %.200s", text
            )
            return None


class TakenError(Exception):
    """Another beat has sent the tick; `last` is the run that it stored."""

    def __init__(self, last: LastRun) -> None:
        """Keep the run."""
        super().__init__(f"another beat ran this entry at {last.at}")
        self.last = last


class Ticks:
    """The last runs of one application's entries. Every call raises DatabaseError."""

    def __init__(self, app: Celery) -> None:
        """Use the database; `river_beat_namespace`, else the application's name, is part of the keys."""
        self._app = app

    @property
    def zone(self) -> str:
        """The name of the application's zone."""
        return str(self._app.timezone)

    def key(self, name: object) -> str:
        """Return the key of an entry's row."""
        namespace = self._app.conf.river_beat_namespace or self._app.main or "__main__"
        return f"{PREFIX}:{_short(str(namespace))}:{_short(str(name))}"

    def recall(self, names: Iterable[str], now: datetime) -> dict[str, LastRun]:
        """Return the last run of each entry; one that was never seen, or in another zone, ran `now`."""
        keys = {self.key(name): name for name in names}
        rows = StandingRows(self._app.runtime.driver)
        known = {row.key: LastRun.decode(row.value) for row in rows.get_many(list(keys))}
        return {name: self._current(rows, key, known.get(key), now) for key, name in keys.items()}

    def _current(self, rows: StandingRows, key: str, known: LastRun | None, now: datetime) -> LastRun:
        if known is not None and known.zone == self.zone:
            return known
        fresh = LastRun(now, known.runs if known else 0, self.zone)

        def settle(text: str | None, _now: float) -> str:
            stored = LastRun.decode(text)
            return (stored if stored and stored.zone == self.zone else fresh).encode()

        stored = LastRun.decode(rows.change(key, settle, KEPT_SECONDS))
        return stored or fresh

    @contextmanager
    def tick(self, name: object, run: LastRun, may_run: Callable[[LastRun], bool]) -> Iterator[None]:
        """Store a run, together with what is sent in the block, in one transaction.

        Raises TakenError, before the block, unless `may_run` of the run that is stored so far. What the block
        raises takes everything back.
        """
        driver = self._app.runtime.driver

        def move(text: str | None, _now: float) -> str:
            stored = LastRun.decode(text)
            if stored is not None and not may_run(stored):
                raise TakenError(stored)
            return run.encode()

        with driver.connect() as connection, connection.transaction():
            change_on(connection, driver, self.key(name), move, KEPT_SECONDS)
            with river_core.ambient.join(connection.raw):
                yield


def _short(name: str) -> str:
    """Return a name that fits into a key; one that is too long is told apart by its hash."""
    name = name.replace("\0", "\ufffd")
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[:LONGEST_NAME]}#{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}"
