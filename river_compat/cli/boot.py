"""What a worker checks before it starts: that River's tables are there."""

from __future__ import annotations

import logging

from river_compat.cli.place import Place
from river_core.drivers.base import Driver
from river_core.errors import MigrationError
from river_core.migrate import Migrator

OLDEST_USABLE = 7
"""The worker's statements need the tables of this version; later versions only make them better."""

logger = logging.getLogger(__name__)


def check_schema(driver: Driver, place: Place) -> None:
    """Raise MigrationError with the way out when the schema is missing or too old; warn when it is behind.

    Raises OperationalError for a SQLite file that does not exist, and leaves none behind. A worker never
    migrates by itself: a deployment does, once, before it starts workers.
    """
    place.check_exists()
    migrator = Migrator(driver)
    existing = migrator.existing_versions()
    newest = max(existing, default=0)
    way_out = "run `river-compat migrate up` on the same database first"
    if not existing:
        raise MigrationError(f"the database has no River tables: {place.text}; {way_out}")
    if newest < OLDEST_USABLE:
        raise MigrationError(
            f"River's schema is at version {newest}, {OLDEST_USABLE} is needed: {place.text}; {way_out}"
        )
    if newest < len(migrator.all_versions()):
        logger.warning(
            "River's schema is behind; `river-compat migrate up` brings it up", extra={"version": newest}
        )
