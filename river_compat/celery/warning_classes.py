"""The warnings of `celery.exceptions`, which has their names."""

from __future__ import annotations


class CeleryWarning(UserWarning):
    """Base of the warnings."""


class AlwaysEagerIgnored(CeleryWarning):
    """`send_task` does not look at `task_always_eager`."""


class DuplicateNodenameWarning(CeleryWarning):
    """Several workers have the same node name."""


class DuplicateTaskNameWarning(CeleryWarning):
    """Two callables were registered under one task name."""


class FixupWarning(CeleryWarning):
    """About the integration with a framework."""


class NotConfigured(CeleryWarning):
    """No configuration module was found."""


class SecurityWarning(CeleryWarning):
    """A setting that is a risk."""


class CPendingDeprecationWarning(PendingDeprecationWarning):
    """Something will be deprecated."""


class CDeprecationWarning(DeprecationWarning):
    """Something is deprecated."""
