"""Variables of the environment win over what the code sets, whenever it is read. Row 1.15."""

import os

from celery import Celery

SETTINGS = ("broker_url", "broker_read_url", "broker_write_url", "result_backend")
ALL = {
    "CELERY_BROKER_URL": "memory://env",
    "CELERY_BROKER_READ_URL": "memory://read",
    "CELERY_BROKER_WRITE_URL": "memory://write",
    "CELERY_RESULT_BACKEND": "cache+memory://env",
}


def read(variables):
    app = Celery("environment", broker="memory://code", backend="cache+memory://code", set_as_current=False)
    before = [getattr(app.conf, name) for name in SETTINGS]
    kept = {name: os.environ.pop(name, None) for name in ALL}
    os.environ.update(variables)
    try:
        return [before, [getattr(app.conf, name) for name in SETTINGS]]
    finally:
        for name, value in kept.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def observe():
    return {
        "none": read({}),
        "broker": read({"CELERY_BROKER_URL": "memory://env"}),
        "one_side": read({"CELERY_BROKER_WRITE_URL": "memory://write"}),
        "all": read(ALL),
    }
