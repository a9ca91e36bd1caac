"""Helpers around applications (`celery.app.utils`)."""

from __future__ import annotations

import importlib
import platform as _platform
from importlib.metadata import version
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kombu.utils.url import maybe_sanitize_url

from river_compat.celery.app import database
from river_compat.celery.app.sanitizing import filter_hidden_settings, sanitize_url
from river_compat.celery.app.settings import Settings
from river_compat.celery.refused_names import refusing
from river_compat.celery.utils.imports import import_from_cwd, symbol_by_name

__all__ = ["Settings", "appstr", "bugreport", "filter_hidden_settings", "find_app", "sanitize_url"]

_REPORT = """
software -> celery:{celery} river-compat:{river_compat} kombu:{kombu} py:{py}
platform -> system:{system} arch:{arch} imp:{implementation}
settings -> database:{database} results:{results}

{settings}
"""


def appstr(app: Any) -> str:
    """Return what an application is called: `main` and its id."""
    return f"{app.main or '__main__'} at {id(app):#x}"


def bugreport(app: Any) -> str:
    """Return versions, platform and settings, without secrets. The first is that of the Celery meant."""
    from river_compat.celery import __version__  # which imports this module

    return _REPORT.format(
        celery=__version__,
        river_compat=version("river-compat"),
        kombu=version("kombu"),
        py=_platform.python_version(),
        system=_platform.system(),
        arch=", ".join(part for part in _platform.architecture() if part),
        implementation=_platform.python_implementation(),
        database=_shown_database(app),
        results=_shown_results(app),
        settings=app.conf.humanize(with_defaults=False, censored=True),
    )


def _shown_results(app: Any) -> str:
    """Say where results are, and which setting of Celery's is ignored for that."""
    ignored = app.conf.result_backend
    if not ignored or database.is_database(ignored):
        return "the tasks' own rows"
    return f"the tasks' own rows (result_backend={sanitize_url(ignored)} is not used)"


def _shown_database(app: Any) -> str:
    try:
        return database.without_password(database.database_url(app.conf))
    except Exception as error:  # noqa: BLE001 - a report says what is wrong instead of failing
        return f"none ({maybe_sanitize_url(str(error))})"


def find_app(app: Any, symbol_by_name: Any = symbol_by_name, imp: Any = import_from_cwd) -> Any:
    """Return an application by path: `proj`, `proj.celery`, or `proj:app`.

    In a package without one its module `celery` is looked into. Raises what the import raises, and
    AttributeError where no application is found.
    """
    from river_compat.celery.app.base import Celery

    try:
        found = symbol_by_name(app, imp=imp)
    except AttributeError:
        found = imp(app)
    if not isinstance(found, ModuleType) or ":" in app:
        return found
    candidates = [getattr(found, name, None) for name in ("app", "celery")]
    known = next((item for item in candidates if item is not None and not isinstance(item, ModuleType)), None)
    if known is not None:
        return known
    if hasattr(found, "__path__"):
        try:
            return find_app(f"{app}.celery", symbol_by_name=symbol_by_name, imp=imp)
        except ImportError:
            importlib.invalidate_caches()
    apps = [value for value in vars(found).values() if isinstance(value, Celery)]
    if apps:
        return apps[0]
    raise AttributeError(f"no application was found in {app!r}")


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
