"""Celery's priorities 0 to 9 on River's 1 to 4.

Which end is first depends on the broker that the code was written for, so nothing is guessed: the
setting `task_priority_scheme` says it, or the URL of the old broker does.
"""

from __future__ import annotations

from bisect import bisect_right

from river_compat.celery.exceptions import ImproperlyConfigured

LOWEST = 9
STEPS = (3, 6, 9)
SCHEMES = ("redis", "rabbitmq")
_SCHEME_OF_BROKER = {
    "redis": "redis",
    "rediss": "redis",
    "valkey": "redis",
    "amqp": "rabbitmq",
    "amqps": "rabbitmq",
    "pyamqp": "rabbitmq",
}


def scheme_of(setting: str | None, old_broker_url: str | None) -> str | None:
    """Return `redis` (0 first) or `rabbitmq` (9 first), or None when neither source says it."""
    if setting is not None:
        if setting not in SCHEMES:
            raise ImproperlyConfigured(f"task_priority_scheme must be one of {SCHEMES}, not {setting!r}")
        return setting
    scheme = (old_broker_url or "").partition("://")[0].partition("+")[0]
    return _SCHEME_OF_BROKER.get(scheme)


def default_priority(scheme: str | None) -> int | None:
    """Return what a task is told as its priority that was given none: 0 as on Redis, none as on RabbitMQ."""
    return 0 if scheme == "redis" else None


def river_priority(priority: int | None, scheme: str | None) -> int:
    """Return River's priority, 1 first, for a caller's one.

    Raises ImproperlyConfigured when a priority is given and no scheme is known, ValueError outside 0
    to 9.
    """
    if priority is None:
        return 4 if scheme == "rabbitmq" else 1
    if isinstance(priority, bool) or not isinstance(priority, int) or not 0 <= priority <= LOWEST:
        raise ValueError(f"priority must be a whole number from 0 to {LOWEST}, not {priority!r}")
    if scheme is None:
        raise ImproperlyConfigured(
            f"priority={priority} needs the setting task_priority_scheme: 'redis' (0 is first) or "
            "'rabbitmq' (9 is first), whichever broker the priorities were chosen for"
        )
    rank = priority if scheme == "redis" else LOWEST - priority
    return 1 + bisect_right(STEPS, rank)
