"""An exception whose constructor takes other arguments may be retried, and read. Row 5.17."""

from celery import shared_task

from ..observation import outcome, shown, until


class OddError(Exception):
    def __init__(self, first, second):
        super().__init__(first)
        self.second = second


@shared_task(bind=True, max_retries=1, default_retry_delay=2)
def odd(self):
    self.retry(exc=OddError("one", "two"))


def observe():
    result = odd.delay()
    until(lambda: result.state, lambda state: state == "RETRY")
    waiting = shown(result.result)
    return {"retry": [waiting["error"], waiting["args"]], "end": outcome(result)["state"]}
