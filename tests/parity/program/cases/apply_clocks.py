"""Times of any zone are the same moments for the caller, the worker and the result. Row 10.8."""

from datetime import UTC, datetime, timedelta, timezone

from celery import shared_task

from ..observation import WAIT, outcome

ZONES = (UTC, timezone(timedelta(hours=-11)), timezone(timedelta(hours=14)))


@shared_task(bind=True)
def times(self):
    eta, expires = self.request.eta, self.request.expires
    found = [each if isinstance(each, datetime) else datetime.fromisoformat(each) for each in (eta, expires)]
    return [each.astimezone(UTC).isoformat() for each in found]


def observe():
    seen = []
    for zone in ZONES:
        before = datetime.now(UTC)
        eta, expires = before + timedelta(seconds=0.5), before + timedelta(hours=2)
        result = times.apply_async(eta=eta.astimezone(zone), expires=expires.astimezone(zone))
        same = result.get(timeout=WAIT) == [eta.isoformat(), expires.isoformat()]
        done = result.date_done
        done = done if done.tzinfo else done.replace(tzinfo=UTC)
        seen.append([same, eta <= done <= datetime.now(UTC)])
    past = datetime.now(UTC) - timedelta(minutes=1)
    expired = [outcome(times.apply_async(expires=past.astimezone(zone)))["state"] for zone in ZONES]
    return {"eta": seen, "expired": expired}
