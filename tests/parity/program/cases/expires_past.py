"""A call that expired before it could run never runs and is REVOKED. Row 3.5."""

from datetime import UTC, datetime, timedelta

from celery import shared_task

from ..observation import WAIT, new_id, note, notes, raised, shown


@shared_task
def late(key):
    note(key, "ran")


def observed(expires):
    key = new_id()
    result = late.apply_async((key,), expires=expires)
    value = result.get(timeout=WAIT, propagate=False)
    return {
        "value": shown(value),
        "state": result.state,
        "ready": result.ready(),
        "failed": result.failed(),
        "successful": result.successful(),
        "raised": raised(result.get, timeout=WAIT),
        "ran": notes(key),
    }


def observe():
    past = datetime.now(UTC) - timedelta(minutes=1)
    return {
        "aware": observed(past),
        "naive_is_utc": observed(past.replace(tzinfo=None)),
        "not_yet": late.apply_async((new_id(),), expires=600).get(timeout=WAIT),
    }
