"""Which database an application uses, from its settings and the environment.

In this order: `river_driver`, `river_using` (an alias of Django), `river_database_url`, a `broker_url` that
is a database, the variables RIVER_DATABASE_URL and DATABASE_URL, Django's alias `default` where Django is in
use, and a SQLite file in the working directory. Where Django has the database in its DATABASES, its
transactions are joined. The URL of a broker
that was left in the settings is accepted, with one warning, where one of the others names the database.
The broker `memory://` of tests is a temporary SQLite file, whatever the environment says.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

from river_compat.celery.app import django_database
from river_compat.celery.app.scratch import is_scratch, scratch_url
from river_compat.celery.exceptions import CeleryWarning, unsupported
from river_core.drivers import open_driver
from river_core.drivers.base import Driver

if TYPE_CHECKING:
    from river_compat.celery.app.settings import Settings

DEFAULT_URL = "sqlite:///river.sqlite3"
VARIABLES = ("RIVER_DATABASE_URL", "DATABASE_URL")
DATABASE_SCHEMES = frozenset({"postgres", "postgresql", "sqlite"})
_SET_URL = "set river_database_url or RIVER_DATABASE_URL to a postgresql:// or sqlite:/// URL"
_RESULT_BACKENDS_WITHOUT_EFFECT = ("", "cache+memory", "disabled", "river")
_OF_DJANGO = ("django-cache", "django-db")


def open_database(conf: Settings) -> Driver:
    """Return the driver of the application's database; nothing connects yet.

    Raises UnsupportedFeature for a broker's URL with nothing beside it, ConfigurationError for a URL
    that is no database's.
    """
    if conf.river_driver is not None:
        driver: Driver = conf.river_driver
        return driver
    schema = conf.river_schema or os.environ.get("RIVER_SCHEMA", "")
    given = conf.river_listen_url or os.environ.get("RIVER_LISTEN_URL")
    listen_url = _without_driver(given) if given else None
    _refuse_two_databases(conf)
    alias = django_alias(conf)
    if alias is not None:
        return _open_alias(conf, alias, schema or django_database.of_settings("SCHEMA") or "", listen_url)
    url = database_url(conf)
    _check_result_backend(conf.result_backend, url)
    driver = open_driver(url, schema=schema, listen_url=listen_url)
    return _beside_django(driver) if django_database.is_in_use() else driver


def django_alias(conf: Settings) -> str | None:
    """Return the alias of Django's DATABASES that is the application's database, or None."""
    return django_database.alias_for(conf, _named_url(conf))


def _open_alias(conf: Settings, alias: str, schema: str, listen_url: str | None) -> Driver:
    from river_core.drivers.django import DjangoDriver  # Django is in use

    broker = old_broker_url(conf)
    if broker:
        _warn(
            f"broker_url={_shown(broker)!r} is not used: tasks are sent to the database {alias!r} of Django"
        )
    _check_result_backend(conf.result_backend, alias)
    return DjangoDriver(alias, schema=schema, listen_url=listen_url)


def _beside_django(driver: Driver) -> Driver:
    from river_core.drivers.django_beside import BesideDjango  # Django is in use

    return BesideDjango(driver)


def _named_url(conf: Settings) -> str | None:
    """Return the URL that settings or environment name, as they spell it but for SQLAlchemy's driver."""
    broker = conf.broker_url
    url = conf.river_database_url or (scratch_url(broker) if is_scratch(broker) else None)
    if url is None and is_database(broker):
        url = broker
    if url is None:
        url = next((value for name in VARIABLES if (value := os.environ.get(name))), None)
    return _without_driver(url) if url else None


def database_url(conf: Settings) -> str:
    """Return the URL of the application's database, where it is not one of Django's aliases."""
    url = _named_url(conf)
    broker = old_broker_url(conf)
    if broker:
        if url is None:
            raise unsupported(f"broker_url={_shown(broker)!r}", _SET_URL)
        _warn(f"broker_url={_shown(broker)!r} is not used: tasks are sent to the database")
    return url or DEFAULT_URL


def _refuse_two_databases(conf: Settings) -> None:
    """Refuse a URL for one direction only, which the environment may give, and that is no broker's."""
    for name in ("broker_read_url", "broker_write_url"):
        url = conf[name]
        if is_database(url) and url not in (conf.broker_url, conf.river_database_url):
            raise unsupported(f"{name}={_shown(url)!r}", "there is one database; set broker_url alone")


def is_database(url: Any) -> bool:
    """Whether a URL names a database of River's."""
    return isinstance(url, str) and _scheme(url) in DATABASE_SCHEMES


def old_broker_url(conf: Settings) -> str | None:
    """Return the URL of the broker that the code was written for, where one is still in the settings."""
    broker = conf.broker_url
    is_brokers = isinstance(broker, str) and not is_database(broker) and not is_scratch(broker)
    return broker if is_brokers else None


def _check_result_backend(backend: Any, url: str) -> None:
    """Warn about a result store that is not used; refuse one that nothing replaces, or of the user's own."""
    if backend is None or is_database(backend):
        return
    name = str(backend)
    kind = name.partition("://")[0]
    if kind in _OF_DJANGO:
        _warn(
            f"result_backend={name!r} is not used: django_celery_results shows no new results, which are in "
            "the tasks' own rows"
        )
    elif kind in _RESULT_BACKENDS_WITHOUT_EFFECT:
        return
    elif "://" not in name:
        raise unsupported(
            f"result_backend={name!r}", "delete the setting: results are in the tasks' own rows"
        )
    elif url == DEFAULT_URL:
        raise unsupported(f"result_backend={_shown(name)!r}", f"delete the setting and {_SET_URL}")
    else:
        _warn(f"result_backend={_shown(name)!r} is not used: results are in the tasks' own rows; delete it")


def _warn(text: str) -> None:
    warnings.warn(CeleryWarning(text), stacklevel=2)


def _scheme(url: str) -> str:
    return url.partition("://")[0].partition("+")[0]


def _without_driver(url: str) -> str:
    """Drop the driver from SQLAlchemy's spelling, `postgresql+psycopg://`."""
    scheme, separator, rest = url.partition("://")
    return scheme.partition("+")[0] + separator + rest


def scheme_of_url(url: str) -> str:
    """Return a URL's scheme without SQLAlchemy's driver."""
    return _scheme(url)


def without_password(url: str) -> str:
    """Return a URL with the password hidden."""
    scheme, separator, rest = url.partition("://")
    user, at, host = rest.rpartition("@")
    name, colon, _ = user.partition(":")
    return f"{scheme}{separator}{name}{colon}{'********' if colon else ''}{at}{host}"


def _shown(url: str) -> str:
    """Return a URL without its user and password."""
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"
