"""With a namespace its own names count, and nothing else. Row 1.11."""

from types import SimpleNamespace

from celery import Celery

NAMES = ("task_default_queue", "task_always_eager", "task_track_started", "worker_concurrency", "timezone")


def read(namespace, **values):
    app = Celery("namespaces", set_as_current=False)
    app.config_from_object(SimpleNamespace(**values), namespace=namespace)
    return [str(app.conf[name]) for name in NAMES]


def observe():
    return {
        "own": read(
            "CELERY",
            CELERY_TASK_DEFAULT_QUEUE="q",
            CELERY_WORKER_CONCURRENCY=4,
            TASK_ALWAYS_EAGER=True,
            task_track_started=True,
        ),
        "another": read("SHOP", SHOP_TASK_DEFAULT_QUEUE="q", CELERY_TASK_ALWAYS_EAGER=True),
        "small": read("celery", celery_task_default_queue="q", CELERY_TASK_ALWAYS_EAGER=True),
        "underscore": read("CELERY_", CELERY_TASK_DEFAULT_QUEUE="q"),
        "zone": read("CELERY", CELERY_TIMEZONE="Asia/Tokyo"),
        "others": read("CELERY", DEBUG=True, SECRET_KEY="x", BROKER_URL="redis://nowhere"),
    }
