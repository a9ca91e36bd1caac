"""Stand-ins for billiard's exceptions, for processes that have no billiard installed."""

from __future__ import annotations


class TimeLimitExceeded(Exception):  # noqa: N818 - the names are billiard's
    """The hard time limit, in seconds, was exceeded."""

    def __init__(self, value: float | None = None) -> None:
        """Keep the limit."""
        super().__init__(value)

    def __str__(self) -> str:
        """Return the class name with the limit."""
        return f"TimeLimitExceeded{self.args!r}"


class SoftTimeLimitExceeded(Exception):  # noqa: N818
    """The soft time limit was exceeded; the task may catch this and clean up."""

    def __str__(self) -> str:
        """Return the class name with its arguments."""
        return f"SoftTimeLimitExceeded{self.args!r}"


class WorkerLostError(Exception):
    """The process that ran the task ended."""


class Terminated(Exception):  # noqa: N818
    """The process that ran the task was terminated."""
