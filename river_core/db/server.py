"""What the statements must know of a Postgres server: how it tells a duplicate, and whether it notifies.

A driver asks once, with the statement `session_server`. YugabyteDB speaks Postgres' protocol, but its rows
have no useful `xmax`, and it notifies only where that was switched on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

FIRST_VERSION_WITH_OLD = 180_000
_YUGABYTE = ("-yb", "yugabyte")


class Duplicates(StrEnum):
    """How a returned row is told to be an older one that holds the unique key."""

    XMAX = "xmax"
    """The row carries the mark of the transaction that changed it."""
    OLD = "old"
    """Postgres 18 and newer name the row as it was before."""
    NONCE = "nonce"
    """The metadata holds another nonce than the one that was sent (SQLite, YugabyteDB)."""


@dataclass(frozen=True, slots=True)
class Server:
    """One kind of server."""

    duplicates: Duplicates = Duplicates.XMAX
    notifies: bool = True


ANY_SERVER = Server()
"""What every Postgres understands, for as long as the driver has not asked."""


def server_of(row: Sequence[Any]) -> Server:
    """Return what the row of `session_server` says: version text, version number, YugabyteDB's setting."""
    version, number, yugabyte_notifies = row
    if any(mark in version.lower() for mark in _YUGABYTE):
        return Server(Duplicates.NONCE, bool(yugabyte_notifies))
    return Server(Duplicates.OLD if number >= FIRST_VERSION_WITH_OLD else Duplicates.XMAX)
