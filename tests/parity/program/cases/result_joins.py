"""allow_join_result and disable_sync_subtasks let a task wait; denied_join_result forbids it. Row 7.17."""

from celery import shared_task
from celery.result import AsyncResult, allow_join_result, denied_join_result

from ..observation import WAIT, raised


@shared_task
def one():
    return 1


@shared_task
def waits(how):
    result = one.delay()
    if how == "allowed":
        with allow_join_result():
            return result.get(timeout=WAIT)
    if how == "asked for":
        return result.get(timeout=WAIT, disable_sync_subtasks=False)
    return raised(result.get, timeout=WAIT)["error"]


def denied():
    with denied_join_result():
        return raised(AsyncResult("any").get, timeout=1)["error"]


def observe():
    return {
        **{how: waits.delay(how).get(timeout=WAIT) for how in ("allowed", "asked for", "plain")},
        "denied": denied(),
    }
