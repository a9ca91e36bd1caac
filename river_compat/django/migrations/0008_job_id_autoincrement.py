"""Version 8 of River's schema."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

from river_compat.django.operations import RiverVersion


class Migration(migrations.Migration):
    """Job id autoincrement."""

    dependencies: ClassVar = [("river", "0007_notification_outbox")]
    operations: ClassVar = [RiverVersion(8)]
