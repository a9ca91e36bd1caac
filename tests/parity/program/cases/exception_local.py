"""A class that the caller cannot import comes back as a made-up exception of that name. Row 7.6."""

from celery import shared_task

from ..observation import WAIT, shown


@shared_task
def fail():
    class LocalError(ValueError):
        pass

    raise LocalError("only there")


def observe():
    error = fail.delay().get(timeout=WAIT, propagate=False)
    return {"shown": shown(error), "is_value_error": isinstance(error, ValueError)}
