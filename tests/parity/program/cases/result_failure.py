"""What a handle says after a failure, and the traceback that it keeps. Rows 7.2, 7.7."""

from celery import shared_task

from ..observation import WAIT, outcome, raised, shown


@shared_task
def fail(text):
    raise ValueError(text, 42)


def observe():
    result = fail.delay("went wrong")
    return {
        "outcome": outcome(result),
        "ready": result.ready(),
        "successful": result.successful(),
        "failed": result.failed(),
        "result": shown(result.result),
        "info": shown(result.info),
        "raised": raised(result.get, timeout=WAIT),
        "is_value_error": isinstance(result.result, ValueError),
        "failing_line": "raise ValueError(text, 42)" in result.traceback,
        "traceback_ends": result.traceback.strip().splitlines()[-1],
        "maybe_throw": raised(result.maybe_throw),
        "not_propagated": shown(result.get(timeout=WAIT, propagate=False)),
    }
