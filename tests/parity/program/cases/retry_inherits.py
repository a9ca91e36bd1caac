"""A retry keeps id, root, headers, queue and expiry of its call. Row 5.5."""

from datetime import UTC, datetime, timedelta

from celery import shared_task

from ..app import OTHER_QUEUE
from ..observation import new_id, note, notes, outcome


@shared_task(bind=True)
def flaky(self, key, expires):
    request = self.request
    own = [request.id, request.root_id, request.parent_id, request.correlation_id]
    note(
        key,
        [
            [value == key for value in own],
            request.headers,
            request.delivery_info["routing_key"],
            request.expires == expires,
            request.retries,
        ],
    )
    if request.retries == 0:
        raise self.retry(countdown=0)


def observe():
    key = new_id()
    expires = datetime.now(UTC) + timedelta(hours=1)
    result = flaky.apply_async(
        (key, expires.isoformat()),
        task_id=key,
        headers={"tenant": "acme"},
        queue=OTHER_QUEUE,
        expires=expires,
    )
    return [outcome(result), notes(key)]
