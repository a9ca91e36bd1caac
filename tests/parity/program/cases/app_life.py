"""Which application is current, what it announces, and its pickle. Rows 1.2, 1.27."""

import pickle

from celery import Celery, current_app, shared_task


@shared_task(name="parity.pickled")
def pickled():
    return 7


def announced():
    app = Celery("announced", set_as_current=False)
    heard = []

    def on_configure(sender, **kwargs):
        heard.append("configure")

    def after_configure(sender, source=None, **kwargs):
        heard.append(["after_configure", source is not None])

    def after_finalize(sender, **kwargs):
        heard.append("after_finalize")

    app.on_configure.connect(on_configure)
    app.on_after_configure.connect(after_configure)
    app.on_after_finalize.connect(after_finalize)
    app.finalize()
    return heard


def current():
    before = current_app._get_current_object()
    first = Celery("first")
    second = Celery("second", set_as_current=False)
    seen = [current_app.main]
    second.set_current()
    seen.append(current_app.main)
    with Celery("third") as third:
        seen.append(current_app.main == third.main)
    first.close()
    before.set_current()
    return seen


def restored():
    app = Celery("kept", set_as_current=False, task_default_queue="q")
    app.conf.update(my_own="kept")
    again = pickle.loads(pickle.dumps(app))  # noqa: S301 - made one line before
    return [again.main, again.conf.task_default_queue, again.conf.my_own]


def observe():
    app = current_app._get_current_object()
    again = pickle.loads(pickle.dumps(app.tasks["parity.pickled"]))  # noqa: S301 - made here
    return {
        "announced": announced(),
        "current": current(),
        "restored": restored(),
        "task": [again.name, again is app.tasks["parity.pickled"]],
        "bound": [app.AsyncResult("x").app is app, app.signature("a.b").app is app],
    }
