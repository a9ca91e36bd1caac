"""Connection strings of Postgres: what every session of ours adds, and what an error says of them."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from river_core.drivers.psycopg_adopted import parameters_of
from river_core.errors import ConfigurationError, OtherDatabaseError

SESSION_DEFAULTS: dict[str, Any] = {
    "application_name": "river",
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


def complete_conninfo(conninfo: str, connect_timeout: float) -> str:
    """Add what every session of ours has; raises ConfigurationError for a malformed string."""
    try:
        given = conninfo_to_dict(conninfo)
    except psycopg.Error:
        # libpq's own words quote the string, password included, so they are not repeated.
        raise ConfigurationError(
            "the Postgres connection string cannot be read; in a URL, special characters of the password are "
            "written as %-codes (urllib.parse.quote)"
        ) from None
    defaults = {**SESSION_DEFAULTS, "connect_timeout": max(2, int(connect_timeout))}
    return make_conninfo(conninfo, **{name: value for name, value in defaults.items() if name not in given})


def other_database(raw: Any, conninfo: str) -> OtherDatabaseError:
    """Return the error that names both databases."""
    theirs, ours = _described(parameters_of(raw)), _described(conninfo_to_dict(conninfo))
    return OtherDatabaseError(
        f"the joined connection is to database {theirs}, but River lives in {ours}; join a "
        "connection to that database, or insert with enqueue='own' to use a transaction of our own"
    )


def _described(parameters: dict[str, Any]) -> str:
    host, port = parameters.get("host") or "the default host", parameters.get("port") or "the default port"
    return f"{parameters.get('dbname') or 'of the default name'!s} on {host}, {port}"
