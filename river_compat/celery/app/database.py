"""Which database an application uses, from its settings and the environment.

In this order: `river_driver`, `river_database_url`, a `broker_url` that is a database, the variables
RIVER_DATABASE_URL and DATABASE_URL, and a SQLite file in the working directory. The URL of a broker
that was left in the settings is accepted, with one warning, where one of the others names the database.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

from river_compat.celery.exceptions import CeleryWarning, unsupported
from river_core.drivers import open_driver
from river_core.drivers.base import Driver

if TYPE_CHECKING:
    from river_compat.celery.app.settings import Settings

DEFAULT_URL = "sqlite:///river.sqlite3"
VARIABLES = ("RIVER_DATABASE_URL", "DATABASE_URL")
DATABASE_SCHEMES = frozenset({"postgres", "postgresql", "sqlite"})
_SET_URL = "set river_database_url or RIVER_DATABASE_URL to a postgresql:// or sqlite:/// URL"
_RESULT_BACKENDS_WITHOUT_EFFECT = ("", "disabled", "river", "django-db")


def open_database(conf: Settings) -> Driver:
    """Return the driver of the application's database; nothing connects yet.

    Raises UnsupportedFeature for a broker's URL with nothing beside it, ConfigurationError for a URL
    that is no database's.
    """
    if conf.river_driver is not None:
        driver: Driver = conf.river_driver
        return driver
    url = database_url(conf)
    _check_result_backend(conf.result_backend, url)
    schema = conf.river_schema or os.environ.get("RIVER_SCHEMA", "")
    listen_url = conf.river_listen_url or os.environ.get("RIVER_LISTEN_URL")
    return open_driver(url, schema=schema, listen_url=_without_driver(listen_url) if listen_url else None)


def database_url(conf: Settings) -> str:
    """Return the URL of the application's database."""
    broker = conf.broker_url
    url = conf.river_database_url
    if url is None and is_database(broker):
        url = broker
    if url is None:
        url = next((value for name in VARIABLES if (value := os.environ.get(name))), None)
    if broker and not is_database(broker):
        if url is None:
            raise unsupported(f"broker_url={_shown(broker)!r}", _SET_URL)
        _warn(f"broker_url={_shown(broker)!r} is not used: tasks are sent to the database")
    return _without_driver(url) if url is not None else DEFAULT_URL


def is_database(url: Any) -> bool:
    """Whether a URL names a database of River's."""
    return isinstance(url, str) and _scheme(url) in DATABASE_SCHEMES


def old_broker_url(conf: Settings) -> str | None:
    """Return the URL of the broker that the code was written for, where one is still in the settings."""
    broker = conf.broker_url
    return broker if isinstance(broker, str) and not is_database(broker) else None


def _check_result_backend(backend: Any, url: str) -> None:
    if backend is None or is_database(backend):
        return
    name = str(backend)
    if url == DEFAULT_URL and "://" in name:
        raise unsupported(f"result_backend={_shown(name)!r}", f"delete the setting and {_SET_URL}")
    if name.partition("://")[0] not in _RESULT_BACKENDS_WITHOUT_EFFECT:
        _warn(f"result_backend={_shown(name)!r} is not used: results are in the tasks' own rows; delete it")


def _warn(text: str) -> None:
    warnings.warn(CeleryWarning(text), stacklevel=2)


def _scheme(url: str) -> str:
    return url.partition("://")[0].partition("+")[0]


def _without_driver(url: str) -> str:
    """Drop the driver from SQLAlchemy's spelling, `postgresql+psycopg://`."""
    scheme, separator, rest = url.partition("://")
    return scheme.partition("+")[0] + separator + rest


def _shown(url: str) -> str:
    """Return a URL without its user and password."""
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"
