"""Version 4 of River's schema."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

from river_compat.django.operations import RiverVersion


class Migration(migrations.Migration):
    """Pending and more."""

    dependencies: ClassVar = [("river", "0003_river_job_tags_non_null")]
    operations: ClassVar = [RiverVersion(4)]
