"""`task_retry` tells reason and request, once for each retry, not for the last failure. Row 13.7."""

from celery import shared_task, signals

from ..observation import new_id, note, notes, outcome, shown

NAME = "parity.signals_retry.act"


@shared_task(bind=True, name=NAME, max_retries=2, default_retry_delay=0)
def act(self, key, how):
    if how == "plain":
        raise self.retry()
    raise self.retry(exc=OSError(how, self.request.retries), countdown=0)


@signals.task_retry.connect
def heard(sender=None, request=None, reason=None, einfo=None, **more):
    if sender.name == NAME:
        facts = [request.id == sender.request.id, request.retries, type(reason).__name__, shown(reason.exc)]
        note(request.kwargs["key"], [*facts, einfo.type.__name__, reason.when == 0])


def observe():
    keys = {how: new_id() for how in ("plain", "raised")}
    results = {how: act.delay(key=key, how=how) for how, key in keys.items()}
    ends = {how: outcome(result) for how, result in results.items()}
    ends["plain"]["value"] = ends["plain"]["value"]["error"]
    return {how: [ends[how], sorted(notes(key), key=lambda told: told[1])] for how, key in keys.items()}
