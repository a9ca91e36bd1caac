"""Names of queues are free text, and two that differ in case are two queues. Row 9.1."""

from ..observation import new_id, outcome
from ..own import application, working

NAMES = ("High.Prio", "high.prio", "tagesschluß 1", "a/b:c@d")


def observe():
    ours = new_id()
    queues = [f"{ours} {name}" for name in NAMES]
    app = application(task_default_queue=queues[0], set_as_current=False)

    @app.task(name="names.where", bind=True)
    def where(self):
        return self.request.delivery_info["routing_key"].removeprefix(ours)

    sent = [where.apply_async(queue=queue) for queue in queues]
    unread = where.apply_async(queue=f"{ours} HIGH.PRIO")
    with working(app, queues=queues):
        return {"ran in": [outcome(each) for each in sent], "other": unread.state}
