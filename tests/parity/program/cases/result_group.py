"""A group's values come in its order; failures are values with propagate=False. Row 7.14."""

from celery import shared_task
from celery.result import GroupResult

from ..app import app
from ..observation import WAIT, new_id, raised, shown, until


@shared_task
def echo(x):
    if x == "fail":
        raise ValueError("asked for")
    return x


def observe():
    good = app.GroupResult(new_id(), [echo.delay(x) for x in (3, 1, 2)])
    bad = app.GroupResult(new_id(), [echo.delay(x) for x in (1, "fail", 2)])
    values = good.get(timeout=WAIT)
    mixed = bad.get(timeout=WAIT, propagate=False)
    seen = []
    given = good.get(timeout=WAIT, callback=lambda *pair: seen.append(pair))
    good.save()
    restored = GroupResult.restore(good.id, app=app)
    good.delete()
    nested = app.GroupResult(new_id(), [good, echo.delay(4)])
    until(nested.ready, bool)
    return {
        "values": values,
        "join": good.join(timeout=WAIT),
        "mixed": [shown(value) for value in mixed],
        "raises": raised(bad.get, timeout=WAIT)["error"],
        "states": [
            (g.ready(), g.successful(), g.failed(), g.waiting(), g.completed_count()) for g in (good, bad)
        ],
        "callback": [given, sorted(value for _, value in seen), len(seen)],
        "restored": [restored == good, [r.id for r in restored] == [r.id for r in good], len(restored)],
        "deleted": GroupResult.restore(good.id, app=app) is None,
        "nested": nested.get(timeout=WAIT),
        "first": good[0].get(timeout=WAIT),
    }
