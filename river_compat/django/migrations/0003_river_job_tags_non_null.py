"""Version 3 of River's schema."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

from river_compat.django.operations import RiverVersion


class Migration(migrations.Migration):
    """River job tags non null."""

    dependencies: ClassVar = [("river", "0002_initial_schema")]
    operations: ClassVar = [RiverVersion(3)]
