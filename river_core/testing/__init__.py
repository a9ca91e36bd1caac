"""Helpers for tests of applications (River: rivertest). They use the real database; nothing is imitated.

`require_inserted` and its siblings tell what was inserted, `TestWorker` works jobs in the test's own
transaction. Fixtures for pytest are in the plugin that this package installs.
"""

from river_core.testing.clock import StubClock
from river_core.testing.context import work_context
from river_core.testing.expectation import ExpectedJob, RequireInsertedOpts
from river_core.testing.inserted import require_inserted, require_many_inserted, require_not_inserted
from river_core.testing.result import WorkOutcome, WorkResult
from river_core.testing.resumable import resumable_step_after, resumable_step_at_cursor
from river_core.testing.worker import TestWorker

__all__ = [
    "ExpectedJob",
    "RequireInsertedOpts",
    "StubClock",
    "TestWorker",
    "WorkOutcome",
    "WorkResult",
    "require_inserted",
    "require_many_inserted",
    "require_not_inserted",
    "resumable_step_after",
    "resumable_step_at_cursor",
    "work_context",
]
