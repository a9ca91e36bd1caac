"""The application's configuration."""

from __future__ import annotations

from django.apps import AppConfig

from river_core.drivers.django import provide_json_functions


class RiverConfig(AppConfig):
    """River's tables and commands."""

    name = "river_compat.django"
    label = "river"
    verbose_name = "River"

    def ready(self) -> None:
        """Let every connection to SQLite read River's rows, also through models of the project's own."""
        provide_json_functions()
