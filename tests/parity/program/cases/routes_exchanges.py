"""Exchanges and routing keys lead to the queue that is bound. Row 9.6."""

from kombu import Exchange, Queue

from ..observation import new_id, outcome
from ..own import application, working


def observe():
    name = new_id()
    topic = Exchange(f"{name}-topic", type="topic")
    queues = [
        Queue(f"{name}-plain"),
        Queue(f"{name}-same", Exchange(f"{name}-same"), routing_key=f"{name}-same"),
        Queue(f"{name}-feeds", topic, routing_key="feeds.#"),
        Queue(f"{name}-mail", topic, routing_key="*.mail"),
    ]
    app = application(
        task_queues=queues, task_default_queue=queues[0].name, result_extended=True, set_as_current=False
    )

    @app.task(name="exchanges.where")
    def where():
        return "ran"

    same, topics = dict.fromkeys(("queue", "exchange", "routing_key"), queues[1].name), queues[2:]
    with working(app, queues=[queue.name for queue in queues[:2]]):
        plain = {
            "default": outcome(where.delay()),
            "three times the same": outcome(where.apply_async(**same)),
            "exchange and key": outcome(
                where.apply_async(exchange=queues[1].exchange.name, routing_key=queues[1].name)
            ),
        }
    with working(app, queues=[queue.name for queue in topics]):
        elsewhere = where.delay()
        bound = {
            key: outcome(where.apply_async(queue=queue.name, routing_key=key))
            for key, queue in zip(("feeds.import.now", "shop.mail"), topics, strict=True)
        }
        return {"plain": plain, "topic": bound, "in another queue": elsewhere.state}
