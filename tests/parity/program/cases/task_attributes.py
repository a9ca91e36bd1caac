"""Options become attributes, unknown ones too, and the defaults are Celery's. Rows 2.2, 2.22."""

from celery import shared_task

NAMES = (
    "max_retries",
    "default_retry_delay",
    "ignore_result",
    "store_errors_even_if_ignored",
    "track_started",
    "acks_late",
    "serializer",
    "expires",
    "rate_limit",
    "time_limit",
    "soft_time_limit",
    "typing",
    "throws",
    "trail",
)


@shared_task
def defaults():
    return None


@shared_task(max_retries=None, default_retry_delay=7, ignore_result=True, my_own_option="kept", expires=30)
def options():
    return None


def observe():
    return {
        "defaults": {name: repr(getattr(defaults, name)) for name in NAMES},
        "options": {name: repr(getattr(options, name)) for name in (*NAMES, "my_own_option")},
    }
