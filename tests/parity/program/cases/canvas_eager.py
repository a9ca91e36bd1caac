"""Workflows in process. Row 16.4."""

from celery import Celery, chain, chord, group

from ..observation import raised, shown

app = Celery("eager", set_as_current=False)
app.conf.task_always_eager = True


@app.task(shared=False)
def add(x, y):
    return x + y


@app.task(shared=False)
def xsum(numbers):
    return sum(numbers)


@app.task(shared=False)
def fail(*args):
    raise ValueError("no")


def observe():
    heard = []

    @app.task(shared=False)
    def hear(value):
        heard.append(value)

    @app.task(shared=False)
    def hear_failure(request, error, traceback):
        heard.append(repr(error))

    chained = chain(add.s(1, 1), add.s(2), add.s(3))()
    grouped = group(add.s(1, 1), add.s(2, 2))()
    corded = chord([add.s(1, 1), add.s(2, 2)], xsum.s())()
    broken = chain(add.s(1, 1), fail.s()).apply_async(link_error=hear_failure.s())
    add.apply_async((1, 1), link=hear.s())
    return {
        "chain": [chained.get(), chained.parent.get(), chained.parent.parent.get(), type(chained).__name__],
        "group": [grouped.get(), type(grouped).__name__],
        "chord": corded.get(),
        "in_chain": chain(add.s(1, 1), group(add.s(1), add.s(2)), xsum.s())().get(),
        "broken": [broken.state, shown(broken.result), raised(broken.get)],
        "heard": heard,
    }
