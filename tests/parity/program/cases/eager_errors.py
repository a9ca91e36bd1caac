"""Whether an eager call raises what its task raised, with its links. Row 16.2."""

from celery import Celery

from ..observation import raised, shown


def observed(propagates):
    app = Celery("eager", set_as_current=False)
    app.conf.update(task_always_eager=True, task_eager_propagates=propagates)
    heard = []

    @app.task(name="eager.fails", shared=False)
    def fails(x):
        raise LookupError("mine", x)

    @app.task(name="eager.fine", shared=False)
    def fine(x):
        heard.append(["fine", x])
        return x

    @app.task(name="eager.told", shared=False)
    def told(request, error, traceback):
        heard.append(["told", repr(error)])

    seen = {
        "delay": raised(fails.delay, 1),
        "linked": raised(fails.apply_async, (2,), link=fine.s(), link_error=told.s()),
        "chain": raised((fine.s(3) | fails.s() | fine.s()).delay),
        "fine": shown(fine.delay(4).get()),
        "apply": raised(fails.apply, (5,), throw=True),
    }
    for name in ("delay", "linked", "chain"):
        seen[name] = seen[name].get("error") or "a result"
    if not propagates:
        result = fails.delay(6)
        seen["result"] = [result.state, shown(result.result), raised(result.get)["error"]]
    return {**seen, "heard": heard}


def observe():
    return {"on": observed(True), "off": observed(False)}
