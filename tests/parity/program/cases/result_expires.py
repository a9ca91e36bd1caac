"""Results go after `result_expires`, without a beat; 0 keeps them. Row 7.18."""

from datetime import UTC, datetime, timedelta

from ..observation import outcome, until
from ..own import application, project, working


def ended(queue, expires):
    """Return an application, one of its results, and how it ended."""
    app = application(task_default_queue=queue, result_expires=expires, set_as_current=False)

    @app.task(name="expires.add")
    def add(x, y):
        return x + y

    with working(app):
        result = add.delay(1, 2)
        return app, result, outcome(result)


def observe():
    with project() as own:
        return expired(own.queue)


def expired(queue):
    app, result, kept = ended(queue, 0)
    with working(app):
        seen = {"kept": [kept, app.AsyncResult(result.id).state]}
    app, result, gone = ended(queue, 4)
    done = result.date_done.replace(tzinfo=UTC) + timedelta(seconds=4.2)
    until(lambda: datetime.now(UTC), lambda now: now > done)
    with working(app):
        until(lambda: app.AsyncResult(result.id).state, lambda state: state == "PENDING")
    return {**seen, "gone": gone}
