"""Version 7 of River's schema."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

from river_compat.django.operations import RiverVersion


class Migration(migrations.Migration):
    """Notification outbox sqlite jsonb and sql cleanup."""

    dependencies: ClassVar = [("river", "0006_bulk_unique")]
    operations: ClassVar = [RiverVersion(7)]
