"""River's migrations on Django's own connection, inside the transaction of a migration of Django."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from django.db import Error

from river_core.drivers.borrowed import SQLITE, wrapped
from river_core.drivers.django import DjangoDriver
from river_core.drivers.django_adopted import DjangoConnection
from river_core.drivers.sqlite import statements


class MigratingConnection(DjangoConnection):
    """An alias's connection that runs scripts, too: a migration of Django may change the schema."""

    def run_script(self, sql: str) -> None:
        """Run several statements that take no parameters, in the transaction that is open."""
        parts = list(statements(sql)) if self.vendor == SQLITE else [sql]
        try:
            with self.raw.cursor() as cursor:
                for part in parts:
                    cursor.execute(part)
        except Error as error:
            raise wrapped(error) from error


class MigratingDriver(DjangoDriver):
    """A driver for `river_core.Migrator` whose only connection is that of the alias."""

    def connect(self) -> AbstractContextManager[MigratingConnection]:
        """Lend the alias's connection."""
        return nullcontext(MigratingConnection(self.alias))
