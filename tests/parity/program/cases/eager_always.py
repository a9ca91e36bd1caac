"""With task_always_eager delay() runs here and now, without broker or worker. Row 16.1."""

from celery import Celery
from celery.result import EagerResult

from ..observation import raised

app = Celery("eager", set_as_current=False)
app.conf.task_always_eager = True


@app.task(bind=True)
def add(self, x, y):
    return [x + y, self.request.is_eager]


@app.task
def fail():
    raise ValueError("eager")


def observe():
    result = add.delay(1, 2)
    failed = fail.delay()
    kept = [failed.state, raised(failed.get)]
    app.conf.task_eager_propagates = True
    propagated = raised(fail.delay)
    app.conf.task_eager_propagates = False
    return {
        "type": isinstance(result, EagerResult),
        "value": repr(result.get()),
        "state": result.state,
        "failed": kept,
        "propagated": propagated,
    }
