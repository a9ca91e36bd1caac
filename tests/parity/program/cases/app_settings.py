"""Settings: sources, spellings, namespaces, precedence, a mixture. Row 1.14."""

from celery import Celery
from celery.exceptions import ImproperlyConfigured


class OldNames:
    CELERY_ALWAYS_EAGER = True
    CELERYD_CONCURRENCY = 3


class Namespaced:
    CELERY_TASK_ALWAYS_EAGER = True
    TASK_TRACK_STARTED = True


class Mixed:
    task_always_eager = True
    task_track_started = True
    CELERYD_CONCURRENCY = 3


def new():
    return Celery("settings", set_as_current=False)


def before_and_after():
    app = new()
    app.conf.task_default_queue = "mine"
    app.config_from_object({"task_default_queue": "theirs", "task_track_started": True})
    app.add_defaults({"task_default_queue": "default", "timezone": "Asia/Tokyo"})
    return [app.conf.task_default_queue, app.conf.task_track_started, app.conf.timezone]


def spelled():
    old, named = new(), new()
    old.config_from_object(OldNames)
    named.config_from_object(Namespaced, namespace="CELERY")
    return [
        old.conf.task_always_eager,
        old.conf.CELERYD_CONCURRENCY,
        old.conf.worker_concurrency,
        named.conf.task_always_eager,
        named.conf.task_track_started,
    ]


def mixed():
    app = new()
    app.config_from_object(Mixed)
    try:
        _ = app.conf.task_always_eager
    except ImproperlyConfigured as error:
        return "CELERYD_CONCURRENCY" in str(error) and "worker_concurrency" in str(error)
    return None


def missing():
    app = new()
    app.config_from_object("no_such_module_at_all")
    quiet = new()
    quiet.config_from_object("no_such_module_at_all", silent=True)
    unset = new()
    return [
        type(raised_error(lambda: app.conf.task_always_eager)).__name__,
        quiet.conf.task_always_eager,
        unset.config_from_envvar("NO_SUCH_VARIABLE", silent=True),
        type(raised_error(lambda: unset.config_from_envvar("NO_SUCH_VARIABLE"))).__name__,
    ]


def raised_error(call):
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what was observed
        return error
    return None


def mapping():
    app = new()
    app.conf.update(task_default_queue="q", my_own="kept")
    return [app.conf["task_default_queue"], app.conf.get("nothing", 5), app.conf.my_own, "my_own" in app.conf]


def configured():
    app = new()
    seen = [app.configured]
    app.conf.setdefault("worker_agent", "a:B")
    seen.append(app.configured)
    seen.append(app.conf.worker_agent)
    seen.append(app.configured)
    return seen


def observe():
    return {
        "precedence": before_and_after(),
        "spelled": spelled(),
        "mixed": mixed(),
        "missing": missing(),
        "mapping": mapping(),
        "configured": configured(),
    }
