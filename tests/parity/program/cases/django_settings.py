"""Settings of Django: all of the namespace, the time zone, and nothing else. Row 18.4."""

from ..own import project

SETTINGS = """
import os

SECRET_KEY = "for tests"
INSTALLED_APPS = []
USE_TZ = True
TIME_ZONE = "Europe/Berlin"
CELERY_BROKER_URL = os.environ["PARITY_OWN_BROKER"]
CELERY_TASK_DEFAULT_QUEUE = "shop"
CELERY_TASK_ALWAYS_EAGER = True
CELERY_TASK_ROUTES = {"a.*": {"queue": "b"}}
CELERY_TASK_TIME_LIMIT = 60
CELERY_TASK_SERIALIZER = "pickle"
CELERY_ACCEPT_CONTENT = ["pickle", "json"]
CELERY_RESULT_EXPIRES = 90
CELERY_WORKER_CONCURRENCY = 3
CELERY_WORKER_MAX_TASKS_PER_CHILD = 5
CELERY_BEAT_SCHEDULE = {"e": {"task": "a.b", "schedule": 60}}
CELERY_ENABLE_UTC = False
TASK_TRACK_STARTED = True
BROKER_URL = "redis://of-something-else"
WORKER_PREFETCH_MULTIPLIER = 9
"""
APP = """
import json
import os
import sys

from celery import Celery

os.environ["DJANGO_SETTINGS_MODULE"] = "conf"
app = Celery("shop")
app.config_from_object("django.conf:settings", namespace="CELERY")
NAMES = (
    "task_default_queue", "task_always_eager", "task_routes", "task_time_limit", "task_serializer",
    "accept_content", "result_expires", "worker_concurrency", "worker_max_tasks_per_child", "beat_schedule",
    "enable_utc", "task_track_started", "worker_prefetch_multiplier",
)
lazy = "conf" not in sys.modules or not app.configured


@app.task
def kind(value):
    return type(value).__name__


print("SEEN", json.dumps({
    "lazy": lazy,
    "settings": {name: app.conf[name] for name in NAMES},
    "broker": app.conf.broker_url == os.environ["PARITY_OWN_BROKER"],
    "zone": [str(app.timezone), app.now().tzinfo is not None],
    "task": kind.delay({1, 2}).get(),
    "on commit": [hasattr(kind, "delay_on_commit"), hasattr(kind, "apply_async_on_commit")],
}))
"""


def observe():
    with project(conf=SETTINGS, own=APP) as own:
        own.alias()
        return own.start("own.py", env={"DJANGO_SETTINGS_MODULE": "conf"}).seen()
