"""Version 2 of River's schema."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

from river_compat.django.operations import RiverVersion


class Migration(migrations.Migration):
    """Initial schema."""

    dependencies: ClassVar = [("river", "0001_create_river_migration")]
    operations: ClassVar = [RiverVersion(2)]
