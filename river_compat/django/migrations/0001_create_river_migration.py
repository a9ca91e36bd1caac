"""Version 1 of River's schema."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

from river_compat.django.operations import RiverVersion


class Migration(migrations.Migration):
    """Create river migration."""

    initial = True
    dependencies: ClassVar[list[tuple[str, str]]] = []
    operations: ClassVar = [RiverVersion(1)]
