"""`beat_init` is told once, when a beat starts, then `beat_embedded_init` of one in a worker. Row 13.15."""

import threading

from celery import signals
from celery.beat import Scheduler, Service

from ..observation import new_id, until
from ..own import application


class Quiet(Scheduler):
    """Has no entries, and waits."""

    def setup_schedule(self):
        """Take none."""

    def tick(self, *args, **kwargs):
        """Wait for as long as a beat does."""
        return 0.1


def observe():
    app = application(task_default_queue=new_id(), set_as_current=False)
    heard = []

    @signals.beat_init.connect
    def init(sender=None, **kwargs):
        heard.append(["beat_init", isinstance(sender, Service), sender.app is app])

    @signals.beat_embedded_init.connect
    def embedded(sender=None, **kwargs):
        heard.append(["beat_embedded_init", isinstance(sender, Service)])

    try:
        Service(app, scheduler_cls=Quiet)
        made = len(heard)
        service = Service(app, scheduler_cls=Quiet)
        thread = threading.Thread(target=service.start, kwargs={"embedded_process": True})
        thread.start()
        until(lambda: list(heard), lambda seen: len(seen) >= 2)
        service.stop()
        thread.join()
    finally:
        signals.beat_init.disconnect(init)
        signals.beat_embedded_init.disconnect(embedded)
        app.close()
    return {"made": made, "heard": heard}
