"""While a retry is due the state is RETRY, with the exception as result. Row 5.7."""

from celery import shared_task
from celery.result import AsyncResult

from ..observation import shown, until


@shared_task(bind=True)
def with_exception(self):
    try:
        raise ValueError("try later")
    except ValueError as error:
        raise self.retry(exc=error, countdown=600) from error


@shared_task(bind=True)
def without_exception(self):
    raise self.retry(countdown=600)


def waiting(task):
    result = task.delay()
    until(lambda: result.state, lambda state: state == "RETRY")
    again = AsyncResult(result.id)
    return {
        "ready": again.ready(),
        "successful": again.successful(),
        "failed": again.failed(),
        "type": type(again.result).__name__,
        "has_traceback": bool(again.traceback),
        "shown": shown(again.result) if isinstance(again.result, ValueError) else None,
    }


def observe():
    return [waiting(with_exception), waiting(without_exception)]
