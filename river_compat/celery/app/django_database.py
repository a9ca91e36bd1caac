"""Which of Django's DATABASES is River's database, where Django is in use."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from river_compat.celery.exceptions import ImproperlyConfigured

if TYPE_CHECKING:
    from river_compat.celery.app.settings import Settings
    from river_core.drivers.base import Driver

VENDORS = ("postgresql", "sqlite")
DEFAULT_ALIAS = "default"
_HERE = frozenset({"", "localhost", "127.0.0.1", "::1"})


def is_in_use() -> bool:
    """Whether this process has Django's settings."""
    return bool(os.environ.get("DJANGO_SETTINGS_MODULE")) and find_spec("django") is not None


def is_djangos(driver: Driver) -> bool:
    """Whether a driver takes part in Django's transactions."""
    return type(driver).__module__.startswith("river_core.drivers.django")


def alias_for(conf: Settings, url: str | None) -> str | None:
    """Return the alias on River's database: `river_using`, else the one that `url` names, or `default`.

    Without a URL the default alias is meant, if it is on Postgres or SQLite. None where no alias fits. Raises
    ImproperlyConfigured for a `river_using` that Django does not know.
    """
    if conf.river_using is None and not is_in_use():
        return None
    from django.db import connections

    using = conf.river_using or of_settings("USING")
    if using is not None and (url is None or conf.river_using is not None):
        if using not in connections:
            raise ImproperlyConfigured(f"river_using: there is no {using!r} in Django's DATABASES")
        return str(using)
    aliases = sorted(connections, key=lambda alias: alias != DEFAULT_ALIAS)
    if url is None:
        aliases = [alias for alias in aliases if alias == DEFAULT_ALIAS]
    fitting = (
        alias
        for alias in aliases
        if connections[alias].vendor in VENDORS and (url is None or _leads_to(connections[alias], url))
    )
    return next(fitting, None)


def of_settings(name: str) -> Any:
    """Return a value of Django's setting `RIVER`, or None."""
    from django.conf import settings

    return getattr(settings, "RIVER", {}).get(name)


def _leads_to(wrapper: Any, url: str) -> bool:
    """Whether an alias is on the database of a URL, or on the test database that was made for it."""
    parts = urlsplit(url)
    own = wrapper.settings_dict
    if (parts.scheme == "sqlite") != (wrapper.vendor == "sqlite"):
        return False
    if wrapper.vendor == "sqlite":
        given = os.path.abspath(unquote(parts.path[1:]))  # noqa: PTH100 - the file need not exist
        return bool(wrapper.is_in_memory_db()) or given == os.path.abspath(str(own["NAME"]))  # noqa: PTH100
    query = parse_qs(parts.query)
    host = parts.hostname or query.get("host", [""])[0]
    port = str(parts.port or query.get("port", ["5432"])[0])
    name = unquote(parts.path[1:]) or query.get("dbname", [""])[0]
    same_server = _host(host) == _host(str(own["HOST"])) and port == str(own["PORT"] or "5432")
    return same_server and str(own["NAME"]) in _names(name, own)


def _host(name: str) -> str:
    return "" if name in _HERE else name.lower()


def _names(name: str, own: dict[str, Any]) -> set[str]:
    """Return the names under which the database of a URL may stand in an alias while its tests run."""
    made = (own.get("TEST") or {}).get("NAME")
    names = {name, f"test_{name}"} | ({str(made)} if made else set())
    parallel = re.fullmatch(r"(.+)_\d+", str(own["NAME"]))
    return names | ({str(own["NAME"])} if parallel is not None and parallel[1] in names else set())
