"""The operation of which River's migrations in Django are made."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import router
from django.db.migrations.operations.base import Operation

from river_core import Migrator
from river_core.drivers.django_migrating import MigratingDriver

VENDORS = ("postgresql", "sqlite")


class RiverVersion(Operation):
    """Brings River's schema to a version and records it in `river_migration`, as River's own tools do.

    A database that River's tools have brought there already stays as it is. Nothing is done where the
    database routers do not allow it, on other databases than Postgres and SQLite, and, where the setting
    `RIVER = {"USING": alias}` names River's alias, on all others.
    """

    reduces_to_sql = False
    reversible = True

    def __init__(self, version: int) -> None:
        """Take the version of River's line `main`."""
        self.version = version

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Do nothing: there are no models."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Bring the schema up to the version."""
        if _belongs(app_label, schema_editor.connection):
            _migrator(schema_editor.connection.alias).migrate_up(self.version)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Take the version back; that of the first one drops every job."""
        if _belongs(app_label, schema_editor.connection):
            _migrator(schema_editor.connection.alias).migrate_down(self.version - 1)

    def describe(self) -> str:
        """Return a line for `migrate --plan`."""
        return f"River's schema, version {self.version}"


def _belongs(app_label: str, connection: Any) -> bool:
    using = _setting("USING")
    is_meant = using is None or using == connection.alias
    return is_meant and connection.vendor in VENDORS and router.allow_migrate(connection.alias, app_label)


def _migrator(alias: str) -> Migrator:
    return Migrator(MigratingDriver(alias, schema=_setting("SCHEMA") or ""))


def _setting(name: str) -> Any:
    return getattr(settings, "RIVER", {}).get(name)
