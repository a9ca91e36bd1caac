"""Settings are items and attributes of one mapping, which shows no secret. Row 1.9."""

from celery import Celery

from ..observation import raised


def observe():
    app = Celery("mapping", set_as_current=False, task_default_queue="given")
    conf = app.conf
    conf["worker_concurrency"] = 3
    conf.task_time_limit = 9
    conf.update({"timezone": "Asia/Tokyo"}, task_track_started=True)
    conf.setdefault("task_time_limit", 1)
    conf.setdefault("my_new", 5)
    conf.my_api_token = "hush"
    app.config_from_object({"task_default_queue": "of the object", "worker_concurrency": 7, "my_other": 1})
    names = ("task_default_queue", "worker_concurrency", "task_time_limit", "timezone", "task_track_started")
    table = conf.table()
    return {
        "items": {name: conf[name] for name in names},
        "attributes": [getattr(conf, name) == conf[name] for name in names],
        "own": [conf.my_new, conf["my_other"], conf.get("nothing"), conf.get("nothing", 8)],
        "in": [name in conf for name in ("my_new", "task_time_limit", "nothing")],
        "missing": [
            raised(lambda: conf["no_such_key"])["error"],
            raised(lambda: conf.no_such_key)["error"],
        ],
        "default": [conf.task_serializer, conf.result_expires.days, conf.task_acks_late],
        "hidden": [table["my_api_token"], table["worker_concurrency"], "hush" in conf.humanize()],
        "shown": ["task_time_limit: 9" in conf.humanize(), "task_serializer" in table],
    }
