"""The request carries due time and expiry as ISO text, and says that there are no time limits. Row 4.4."""

from datetime import UTC, datetime, timedelta

from celery import shared_task

from ..observation import WAIT


@shared_task(bind=True)
def read(self):
    request = self.request
    return [request.eta, request.expires, request.timelimit, request.time_limit, request.soft_time_limit]


def observe():
    due = datetime.now(UTC) - timedelta(seconds=5)
    expires = due + timedelta(hours=1)
    times = read.apply_async(eta=due, expires=expires).get(timeout=WAIT)
    return {
        "eta": datetime.fromisoformat(times[0]) == due,
        "expires": datetime.fromisoformat(times[1]) == expires,
        "eta_is_aware": datetime.fromisoformat(times[0]).tzinfo is not None,
        "without_limits": times[2:],
    }
