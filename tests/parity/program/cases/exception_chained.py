"""The traceback text shows the whole chain of causes. Row 7.7."""

from celery import shared_task

from ..observation import WAIT


@shared_task
def fail():
    try:
        {}["missing"]
    except KeyError as error:
        raise LookupError("outer") from error


def observe():
    result = fail.delay()
    error = result.get(timeout=WAIT, propagate=False)
    text = result.traceback
    return {
        "type": type(error).__name__,
        "cause_in_text": "KeyError: 'missing'" in text,
        "own_in_text": "LookupError: outer" in text,
        "line_of_cause": '{}["missing"]' in text,
    }
