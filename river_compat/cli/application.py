"""The Celery application that `-A` names, with the database that `-d` and `--schema` name.

`proj`, `proj:app`, `proj.celery` and `proj.celery:app` are looked up where Celery looks.
"""

from __future__ import annotations

from types import ModuleType

import click

from river_compat.celery import Celery
from river_compat.celery.app.database import database_url, django_alias
from river_compat.celery.leftovers import is_theirs
from river_compat.cli.invocation import Invocation
from river_compat.cli.place import Place, place_of
from river_compat.importing import import_path, import_submodule, working_directory_first

USUAL_NAMES = ("app", "celery")


def application(invocation: Invocation) -> Celery:
    """Import the application; options of the command line win over its settings.

    Raises click's UsageError when there is none. What the module itself raises passes through.
    """
    if invocation.app is None:
        raise click.UsageError("which application? Name it before the command: river-compat -A proj worker")
    app = invocation.app if isinstance(invocation.app, Celery) else find_application(invocation.app)
    if invocation.database_url:
        app.conf["river_driver"] = None
        app.conf["river_database_url"] = invocation.database_url
    if invocation.schema:
        app.conf["river_schema"] = invocation.schema
    return app


def place_of_application(app: Celery) -> Place:
    """Return where the application's database is."""
    if app.conf.river_driver is not None:
        return Place(f"what river_driver gives, {app.conf.river_driver!r}")
    alias = django_alias(app.conf)
    if alias is not None:
        return Place(f"the database {alias!r} of Django")
    return place_of(database_url(app.conf))


def find_application(given: str) -> Celery:
    """Return the object that `given` names, or the application that its module holds.

    In a module that is `app` or `celery`, then the submodule `celery`, then any application. Raises
    click's UsageError for text that names nothing, or something else.
    """
    if not _is_path(given):
        raise click.UsageError(f"-A {given!r} names no module; write it as proj, proj:app or proj.celery")
    with working_directory_first():
        named = _import(given)
        found = _in_module(named) if isinstance(named, ModuleType) else named
    if not isinstance(found, Celery):
        raise click.UsageError(
            f"-A {given}: there is no Celery application of river_compat.celery in it{_celerys_own(named)}"
        )
    return found


def _is_path(given: str) -> bool:
    module, separator, attribute = given.partition(":")
    names = module.split(".") + (attribute.split(".") if separator else [])
    return all(name.isidentifier() for name in names)


def _celerys_own(named: object) -> str:
    """Tell the likely reason: the import was not changed."""
    values = list(vars(named).values()) if isinstance(named, ModuleType) else [named]
    theirs = any(is_theirs(type(value).__module__) for value in values)
    return ", but one of the package celery: import Celery from river_compat.celery there" if theirs else ""


def _import(given: str) -> object:
    try:
        return import_path(given)
    except ModuleNotFoundError as error:
        if error.name is None or not _leads_to(given, error.name):
            raise
        raise click.UsageError(
            f"-A {given}: there is no module {error.name!r} here or on the path"
        ) from error
    except AttributeError as error:
        module, _, attribute = given.replace(":", ".").rpartition(".")
        if getattr(error, "name", None) != attribute:
            raise
        raise click.UsageError(f"-A {given}: {module} has nothing named {attribute!r}") from error


def _leads_to(given: str, module: str) -> bool:
    """Whether the module that is missing is one that was asked for, not one that it imports."""
    path = given.partition(":")[0]
    return path == module or path.startswith(f"{module}.")


def _in_module(module: ModuleType) -> object:
    for name in USUAL_NAMES:
        value = getattr(module, name, None)
        if isinstance(value, Celery):
            return value
    if hasattr(module, "__path__") and (inner := import_submodule(module.__name__, "celery")) is not None:
        found = _in_module(inner)
        if found is not None:
            return found
    return next((value for value in vars(module).values() if isinstance(value, Celery)), None)
