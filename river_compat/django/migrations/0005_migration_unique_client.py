"""Version 5 of River's schema."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

from river_compat.django.operations import RiverVersion


class Migration(migrations.Migration):
    """Migration unique client."""

    dependencies: ClassVar = [("river", "0004_pending_and_more")]
    operations: ClassVar = [RiverVersion(5)]
