"""Commands that the database carries out, so that no worker has to be up: revokes, and limits of tasks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from kombu.exceptions import OperationalError

from river_compat.celery.exceptions import ImproperlyConfigured
from river_compat.celery.remote_names import LIMITS
from river_compat.celery.utils.time import rate
from river_core import errors
from river_core.standing import StandingRows

DEFAULT = "default"
"""The rate that takes back what was set: the code's own holds again."""


def carry_out(app: Any, command: str, arguments: Mapping[str, Any], destination: Any) -> bool:
    """Do a command's part in the database; return whether nothing is left for workers but to reply.

    A revoke counts for all workers, whatever its destination; limits for some workers are kept by those
    alone. Raises kombu's OperationalError.
    """
    do = _COMMANDS.get(command)
    if do is None:
        return False
    try:
        return do(app, arguments, destination)
    except errors.OperationalError as error:
        raise OperationalError(str(error)) from error


def _revoke(app: Any, arguments: Mapping[str, Any], destination: Any) -> bool:
    from river_compat.celery.revoking import revoke  # loads what works tasks, which few producers need

    del destination
    given = arguments["task_id"]
    revoke(app, [given] if isinstance(given, str) else list(given or ()), _signal(arguments))
    return True


def _revoke_stamped(app: Any, arguments: Mapping[str, Any], destination: Any) -> bool:
    from river_compat.celery.revoking import revoke_stamped

    del destination
    headers: Mapping[str, Any] = arguments["headers"]
    stamps = [(name, value) for name, held in headers.items() for value in _listed(held)]
    revoke_stamped(app, stamps, _signal(arguments))
    return True


def _signal(arguments: Mapping[str, Any]) -> str | None:
    if not arguments.get("terminate"):
        return None
    name = str(arguments.get("signal") or "SIGTERM").upper()
    return name if name.startswith("SIG") else f"SIG{name}"


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | set | frozenset) else [value]


def check_rate(given: Any) -> None:
    """Raise KeyError or ValueError for what is neither a rate nor the word that takes a set one back."""
    if given != DEFAULT:
        rate(given)


def _rate_limit(app: Any, arguments: Mapping[str, Any], destination: Any) -> bool:
    try:
        check_rate(arguments["rate_limit"])
    except (KeyError, ValueError) as error:
        raise ImproperlyConfigured(
            f"a rate limit is a number, text such as '10/m', or {DEFAULT!r} for what the code says, "
            f"not {arguments['rate_limit']!r}"
        ) from error
    return _change(app, arguments, destination, {"rate_limit": arguments["rate_limit"]})


def _time_limit(app: Any, arguments: Mapping[str, Any], destination: Any) -> bool:
    limits = {"time_limit": [arguments.get("hard"), arguments.get("soft")]}
    return _change(app, arguments, destination, limits)


def _change(app: Any, arguments: Mapping[str, Any], destination: Any, new: Mapping[str, Any]) -> bool:
    """Keep limits of a task that is known here; workers that know it keep them when they are told."""
    if not destination and arguments["task_name"] in app.tasks:
        keep_limits(app, arguments["task_name"], new)
    return False


def keep_limits(app: Any, task_name: str, new: Mapping[str, Any]) -> None:
    """Keep limits of a task for the workers to come, without end; raises DatabaseError."""
    rows = StandingRows(app.runtime.driver)
    rows.change(
        f"{LIMITS}{task_name}", lambda value, _now: json.dumps(with_limits(json.loads(value or "{}"), new))
    )


def with_limits(known: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits that hold after a change; one that is `default` is the code's own again."""
    return {name: limit for name, limit in {**known, **new}.items() if limit != DEFAULT}


_COMMANDS: dict[str, Callable[[Any, Mapping[str, Any], Any], bool]] = {
    "revoke": _revoke,
    "revoke_by_stamped_headers": _revoke_stamped,
    "rate_limit": _rate_limit,
    "time_limit": _time_limit,
}
