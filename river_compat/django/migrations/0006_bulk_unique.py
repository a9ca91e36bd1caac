"""Version 6 of River's schema."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

from river_compat.django.operations import RiverVersion


class Migration(migrations.Migration):
    """Bulk unique."""

    dependencies: ClassVar = [("river", "0005_migration_unique_client")]
    operations: ClassVar = [RiverVersion(6)]
