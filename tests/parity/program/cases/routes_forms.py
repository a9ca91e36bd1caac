"""`task_routes` in all forms, and what wins. Rows 9.2, 9.3."""

import re

from celery import Celery


class Router:
    def route_for_task(self, task, args=None, kwargs=None):
        return "object" if task == "object.task" else None


def function(name, args, kwargs, options, task=None, **kw):
    return {"queue": "function"} if name.startswith("function.") else None


ROUTES = (
    {"exact.task": "exact", "exact.options": {"queue": "options"}},
    [("glob.first.*", "first"), ("glob.*", {"queue": "second"})],
    {re.compile(r"(video|image)\..*"): {"queue": "media"}},
    function,
    Router(),
)
NAMES = (
    "exact.task",
    "exact.options",
    "glob.first.a",
    "glob.other",
    "video.tasks.a",
    "function.a",
    "object.task",
    "nobody",
)


def queue(app, name, **options):
    return app.amqp.router.route(options, name, (), {})["queue"].name


def observe():
    app = Celery("routes", set_as_current=False, task_routes=ROUTES)
    named = Celery("named", set_as_current=False, task_queues={"a": {"exchange": "e", "routing_key": "k"}})
    return {
        "queues": {name: queue(app, name) for name in NAMES},
        "call_wins": queue(app, "exact.task", queue="call"),
        "none_gives_nothing": queue(app, "exact.task", queue=None),
        "declared": [[q.name, q.exchange.name, q.routing_key] for q in named.amqp.queues.values()],
        "made": named.amqp.queues["b"].name,
    }
