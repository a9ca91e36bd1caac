"""Django in a test process: settings are given once, aliases come and go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import django
from django.conf import settings
from psycopg.conninfo import conninfo_to_dict


def configure() -> None:
    """Set Django up without a database of its own; harmless twice."""
    if not settings.configured:
        settings.configure(DATABASES={}, USE_TZ=True, TIME_ZONE="UTC", INSTALLED_APPS=[])
        django.setup()


@contextmanager
def alias(name: str, url: str, **changes: Any) -> Iterator[str]:
    """Let an alias lead to a database for the block."""
    configure()
    from django.db import connections  # needs the settings

    given = {**_settings(url), **changes}
    before = connections.settings.get(name)
    connections.settings[name] = connections.configure_settings({"default": {}, name: given})[name]
    if hasattr(connections._connections, name):
        del connections[name]
    try:
        yield name
    finally:
        connections[name].close()
        del connections[name]
        del connections.settings[name]
        if before is not None:
            connections.settings[name] = before


def _settings(url: str) -> dict[str, Any]:
    if url.startswith("sqlite:///"):
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": url.removeprefix("sqlite:///")}
    parameters = conninfo_to_dict(url)
    names = {"dbname": "NAME", "host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD"}
    options = {name: value for name, value in parameters.items() if name not in names}
    known = {names[name]: str(value) for name, value in parameters.items() if name in names}
    return {"ENGINE": "django.db.backends.postgresql", "OPTIONS": options, **known}
