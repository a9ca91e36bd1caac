"""A worker takes up a queue and leaves it while it runs. Row 9.5."""

from celery import current_app, shared_task

from ..observation import new_id, outcome, until


@shared_task(bind=True)
def where(self):
    return self.request.delivery_info["routing_key"]


def queues():
    replies = (current_app.control.inspect().active_queues() or {}).values()
    return {each["name"] for reply in replies for each in reply}


def observe():
    queue = new_id()
    first = where.apply_async(queue=queue)
    before = first.state
    added = current_app.control.add_consumer(queue, reply=True, timeout=2)
    ran = outcome(first)
    listed = queue in queues()
    removed = current_app.control.cancel_consumer(queue, reply=True, timeout=2)
    until(queues, lambda seen: queue not in seen)
    second = where.apply_async(queue=queue)
    others = outcome(where.delay())
    texts = [str(reply).replace(queue, "QUEUE") for reply in (added, removed)]
    ran["value"] = ran["value"].replace(queue, "QUEUE")
    seen = {"before": before, "replies": texts, "ran": ran, "listed": listed}
    return {**seen, "others": others, "left": second.state}
