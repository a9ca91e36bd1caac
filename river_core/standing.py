"""Standing rows: what adapters keep in the database that is no job, without a table of their own.

Each is a `pending` row of the reserved kind `python_state`, which no client of River fetches, promotes or
cleans, found by a key of its own. Its value is text, and it may be kept for a time only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from river_core.db import standing
from river_core.drivers.base import Connection, Driver, Row
from river_core.errors import ValidationError

MAX_KEY_CHARACTERS = 1_000


@dataclass(frozen=True, slots=True)
class StandingRow:
    """One row as it is stored."""

    id: int
    key: str
    value: str


class StandingRows:
    """The standing rows of a database. Every call is a transaction of its own; all raise DatabaseError."""

    def __init__(self, driver: Driver) -> None:
        """Use connections of the driver's own."""
        self._driver = driver

    def put(self, key: str, value: str, seconds: float | None = None) -> int:
        """Write what is kept under a key, for so many seconds from now or without end; return the row's id.

        Raises ValidationError for a key that is empty or too long.
        """
        with self._driver.connect() as connection:
            return put_on(connection, self._driver, key, value, seconds)

    def get(self, key: str) -> StandingRow | None:
        """Return what is kept under a key, or None."""
        found = self.get_many([key])
        return found[0] if found else None

    def get_many(self, keys: Iterable[str]) -> list[StandingRow]:
        """Return what is kept under these keys, in any order."""
        with self._driver.connect() as connection:
            return _decoded(connection.fetch(standing.standing_get_many(self._driver.sql, keys)))

    def find(self, prefix: str) -> list[StandingRow]:
        """Return the rows whose keys begin so, oldest first."""
        with self._driver.connect() as connection:
            return _decoded(connection.fetch(standing.standing_list(self._driver.sql, prefix)))

    def delete(self, ids: Iterable[int]) -> int:
        """Delete rows by their ids; return how many were there."""
        with self._driver.connect() as connection:
            return len(connection.fetch(standing.standing_delete_many(self._driver.sql, ids)))

    def delete_expired(self) -> int:
        """Delete the rows whose time has run out; return how many there were."""
        with self._driver.connect() as connection:
            return len(connection.fetch(standing.standing_delete_expired(self._driver.sql)))

    def change(self, key: str, new: Callable[[str | None, float], str], seconds: float | None = None) -> str:
        """Replace the value of a key by `new(value, now)`, which others wait for; return the new one.

        The value is None where there is none yet; `now` is the database's, in seconds since the epoch.
        """
        with self._driver.connect() as connection, connection.transaction():
            return change_on(connection, self._driver, key, new, seconds)


def change_on(
    connection: Connection,
    driver: Driver,
    key: str,
    new: Callable[[str | None, float], str],
    seconds: float | None,
) -> str:
    """Do as `StandingRows.change` in the open transaction of a connection."""
    _check(key)
    connection.fetch(standing.standing_add(driver.sql, key, "", seconds))
    [(_, value, now)] = connection.fetch(standing.standing_lock(driver.sql, key))
    changed = new(value or None, now)
    put_on(connection, driver, key, changed, seconds)
    return changed


def put_on(connection: Connection, driver: Driver, key: str, value: str, seconds: float | None) -> int:
    """Do as `StandingRows.put` on a connection, in whatever transaction it has open."""
    _check(key)
    [(row_id,)] = connection.fetch(standing.standing_put(driver.sql, key, value, seconds))
    return int(row_id)


def _check(key: str) -> None:
    if not 1 <= len(key) <= MAX_KEY_CHARACTERS or "\0" in key:
        raise ValidationError(
            f"the key of a standing row has 1 to {MAX_KEY_CHARACTERS} characters and no NUL, not {key!r}"
        )


def _decoded(rows: Iterable[Row]) -> list[StandingRow]:
    return [StandingRow(*row) for row in rows]
