"""What an adapter's bridge raises for rows that it cannot run, as one tree.

RiverError
└── CompatError
    ├── CallNotRunnable      this worker cannot run the row, another one may: the row waits
    └── MalformedCall        no worker can ever run the row: it is discarded
"""

from __future__ import annotations

from river_core.errors import RiverError


class CompatError(RiverError):
    """Base of the errors of river_compat's shared part."""


class CallNotRunnable(CompatError):  # noqa: N818 - it reports a wait, not an error
    """This worker cannot run the row, but one with other code may: it is given back and tried later."""


class MalformedCall(CompatError):  # noqa: N818 - named for what the row holds
    """The row's envelope is broken, so no worker can run it."""
