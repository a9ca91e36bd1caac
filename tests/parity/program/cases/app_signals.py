"""What an application announces, and what receivers may still change. Row 1.19."""

from celery import Celery


def later():
    return None


def observe():
    app = Celery("announces", set_as_current=False)
    heard = []

    @app.on_configure.connect
    def configure(sender=None, **kwargs):
        heard.append(["on_configure", sender is app, app.configured])

    @app.on_after_configure.connect
    def configured(sender=None, source=None, **kwargs):
        heard.append(["on_after_configure", sender is app, source.task_default_queue, app.configured])
        sender.add_periodic_task(30, sender.signature("a.b", args=(1,)), name="by a receiver")

    @app.on_after_finalize.connect
    def finalized(sender=None, **kwargs):
        heard.append(["on_after_finalize", sender is app, "later" in sender.tasks])

    app.task(later, name="later", shared=False)
    app.config_from_object({"task_default_queue": "q"})
    quiet = list(heard)
    queue = app.conf.task_default_queue
    app.finalize()
    app.finalize()
    again = app.conf.task_default_queue
    entry = app.conf.beat_schedule["by a receiver"]
    return {
        "before": quiet,
        "heard": heard,
        "settings": [queue, again],
        "added": [entry["task"], list(entry["args"]), entry["schedule"]],
    }
