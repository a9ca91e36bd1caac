"""The exceptions that applications catch exist, with the same ancestors. Row 6.7."""

from celery import exceptions

NAMES = (
    "CeleryError",
    "Ignore",
    "ImproperlyConfigured",
    "InvalidTaskError",
    "MaxRetriesExceededError",
    "NotRegistered",
    "OperationalError",
    "QueueNotFound",
    "Reject",
    "Retry",
    "SecurityError",
    "SoftTimeLimitExceeded",
    "TaskError",
    "TaskPredicate",
    "TaskRevokedError",
    "TimeLimitExceeded",
    "TimeoutError",
    "WorkerLostError",
)


def ancestors(name):
    found = getattr(exceptions, name, None)
    return [base.__name__ for base in found.__mro__] if found else None


def observe():
    return {name: ancestors(name) for name in NAMES}
