"""Names of clients: River's default form, a boot nonce, and what the others may conclude from it.

`web1_2026_11_30T15_04_05_123456_9f86d081_pyl` ends in the nonce of this start and in a marker: `_pyl`
holds a lock while it lives, `_pyp` does not. Ids without a marker belong to other languages.
"""

from __future__ import annotations

import secrets
import socket
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from river_core.errors import ConfigurationError

if TYPE_CHECKING:
    from river_core.worker.config import WorkerConfig

LOCKED = "_pyl"
"""Marker of a client that holds a liveness lock: rows of such a client are taken over when it is gone."""

POLL_ONLY = "_pyp"
"""Marker of a client without a lock: nobody may conclude that it is dead."""

MAX_ID_CHARACTERS = 100
MAX_HOST_CHARACTERS = 60
NONCE_BYTES = 4


def new_id(config: WorkerConfig, marker: str) -> str:
    """Return a client id for one start: the configured name or River's default form, nonce and marker."""
    if config.id and config.internals.exact_id:
        return config.id
    if config.id:
        return marked_id(config.id, marker)
    return client_id(socket.gethostname(), config.clock.now(), marker)


def client_id(hostname: str, now: datetime, marker: str) -> str:
    """Return River's default client id for this host and time, with a fresh nonce and the marker."""
    host = hostname.replace(".", "_")[:MAX_HOST_CHARACTERS] or "unknown_host"
    return marked_id(f"{host}_{now.astimezone(UTC):%Y_%m_%dT%H_%M_%S_%f}", marker)


def marked_id(name: str, marker: str) -> str:
    """Return an id given by the user with a fresh nonce and the marker; two starts never share one.

    The id has at most 100 characters, for which a long name is cut. Raises ConfigurationError for an empty
    name and for one of more than 100 characters.
    """
    if not 1 <= len(name) <= MAX_ID_CHARACTERS:
        raise ConfigurationError(
            f"the id of a client must have 1 to {MAX_ID_CHARACTERS} characters, not {len(name)}"
        )
    suffix = f"_{secrets.token_hex(NONCE_BYTES)}{marker}"
    return name[: MAX_ID_CHARACTERS - len(suffix)] + suffix
