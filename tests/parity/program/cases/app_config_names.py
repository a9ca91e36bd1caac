"""Old upper-case names mean the new ones, and a mixture is refused with each rename. Row 1.12."""

from celery import Celery
from celery.exceptions import ImproperlyConfigured

OLD = {
    "CELERY_ALWAYS_EAGER": ("task_always_eager", True),
    "CELERY_ACCEPT_CONTENT": ("accept_content", ["json", "yaml"]),
    "CELERY_DEFAULT_QUEUE": ("task_default_queue", "old"),
    "CELERY_EAGER_PROPAGATES_EXCEPTIONS": ("task_eager_propagates", True),
    "CELERY_IGNORE_RESULT": ("task_ignore_result", True),
    "CELERY_MESSAGE_COMPRESSION": ("task_compression", "gzip"),
    "CELERY_ROUTES": ("task_routes", {"a": "b"}),
    "CELERY_TASK_RESULT_EXPIRES": ("result_expires", 77),
    "CELERY_TASK_SERIALIZER": ("task_serializer", "yaml"),
    "CELERY_TIMEZONE": ("timezone", "Asia/Tokyo"),
    "CELERYBEAT_SCHEDULE": ("beat_schedule", {"a": {"task": "b", "schedule": 3}}),
    "CELERYD_CONCURRENCY": ("worker_concurrency", 3),
    "CELERYD_MAX_TASKS_PER_CHILD": ("worker_max_tasks_per_child", 5),
    "CELERYD_PREFETCH_MULTIPLIER": ("worker_prefetch_multiplier", 1),
    "CELERYD_TASK_SOFT_TIME_LIMIT": ("task_soft_time_limit", 8),
    "CELERYD_TASK_TIME_LIMIT": ("task_time_limit", 9),
}


def mixed(**values):
    app = Celery("mixed", set_as_current=False)
    app.config_from_object(values)
    try:
        return ["read", str(app.conf.task_default_queue)]
    except ImproperlyConfigured as error:
        words = ("CELERYD_CONCURRENCY", "worker_concurrency", "CELERY_DEFAULT_QUEUE", "task_default_queue")
        return [word in str(error) for word in words]


def observe():
    app = Celery("old", set_as_current=False)
    app.config_from_object({name: value for name, (_, value) in OLD.items()})
    return {
        "new": {new: app.conf[new] == value for new, value in OLD.values()},
        "by old name": [app.conf.CELERYD_CONCURRENCY, app.conf["CELERY_DEFAULT_QUEUE"]],
        "mostly new": mixed(
            CELERYD_CONCURRENCY=3, task_default_queue="q", task_always_eager=True, result_expires=3
        ),
        "both names": mixed(CELERY_DEFAULT_QUEUE="q", task_default_queue="q"),
    }
