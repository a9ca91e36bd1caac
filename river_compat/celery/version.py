"""The version of the Celery that this package behaves like; libraries ask for it."""

from __future__ import annotations

from typing import NamedTuple


class version_info_t(NamedTuple):  # noqa: N801 - the name is Celery's
    """The parts of a version."""

    major: int
    minor: int
    micro: int
    releaselevel: str
    serial: str


VERSION = version_info = version_info_t(5, 7, 0, "", "")
SERIES = "collider"
__version__ = f"{VERSION.major}.{VERSION.minor}.{VERSION.micro}"
VERSION_BANNER = f"{__version__} ({SERIES})"
