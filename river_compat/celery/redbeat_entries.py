"""What redbeat keeps in Redis beside the entries of the settings: those that a move would lose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

PREFIX = "redbeat:"
TIMEOUT_SECONDS = 5.0
_SCHEMES = ("redis://", "rediss://")


class EntriesUnknown(Exception):  # noqa: N818 - it is no error of the caller
    """Redis could not be asked; the text says why."""


def entries_in_redis(app: Celery) -> list[str]:
    """Return the names of redbeat's entries that are not in `beat_schedule`, in order.

    Redis is where `redbeat_redis_url` says, else `broker_url`. Raises EntriesUnknown where neither is
    Redis's, where the package `redis` is missing, and where nobody answers within 5 seconds.
    """
    prefix = str(app.conf.get("redbeat_key_prefix") or PREFIX)
    keys, settled = _read(_url(app), f"{prefix}:schedule", f"{prefix}:statics")
    names = {key.removeprefix(prefix) for key in keys}
    return sorted(names - settled - set(app.conf.beat_schedule))


def _url(app: Celery) -> str:
    for name in ("redbeat_redis_url", "broker_url"):
        url = str(app.conf.get(name) or "")
        if url.startswith(_SCHEMES):
            return url
    raise EntriesUnknown("set redbeat_redis_url to have them listed")


def _read(url: str, schedule: str, statics: str) -> tuple[set[str], set[str]]:
    try:
        import redis
    except ImportError as error:
        raise EntriesUnknown("install the package redis to have them listed") from error
    options: dict[str, Any] = {"socket_timeout": TIMEOUT_SECONDS, "socket_connect_timeout": TIMEOUT_SECONDS}
    try:
        with redis.Redis.from_url(url, decode_responses=True, **options) as client:
            keys, settled = client.zrange(schedule, 0, -1), client.smembers(statics)
            return set(map(str, keys)), set(map(str, settled))
    except (redis.RedisError, ValueError) as error:
        raise EntriesUnknown(f"Redis cannot be asked: {error}") from error
