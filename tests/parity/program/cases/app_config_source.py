"""Settings from an object, a class, a mapping, a module, a part of one, read when needed. Row 1.10."""

import sys
from types import ModuleType, SimpleNamespace

from celery import Celery

from ..observation import raised

VALUES = {"task_default_queue": "found", "worker_concurrency": 3}


class Settings:
    task_default_queue = "found"
    worker_concurrency = 3


class Base(Settings):
    worker_concurrency = 4


def read(source, **options):
    app = Celery("sources", set_as_current=False)
    app.config_from_object(source, **options)
    return [app.conf.task_default_queue, app.conf.worker_concurrency]


def lazily():
    """The object is asked at the first use of a setting, not before."""
    app = Celery("lazy", set_as_current=False)
    app.config_from_object("parity_settings_later")
    module = sys.modules["parity_settings_later"] = ModuleType("parity_settings_later")
    module.task_default_queue = "later"
    before = app.configured
    return [before, app.conf.task_default_queue, app.configured]


def replaced():
    """The last one counts, and what was set by hand stays."""
    app = Celery("replaced", set_as_current=False)
    app.conf.task_default_exchange = "by hand"
    app.config_from_object({"task_default_queue": "first", "worker_concurrency": 1})
    seen = [app.conf.task_default_queue]
    app.config_from_object({"task_default_queue": "second"})
    return [*seen, app.conf.task_default_queue, app.conf.task_default_exchange]


def observe():
    module = sys.modules["parity_settings"] = ModuleType("parity_settings")
    module.nested = SimpleNamespace(**VALUES)
    vars(module).update(VALUES)
    missing = Celery("missing", set_as_current=False)
    missing.config_from_object("no_such_module_here")
    return {
        "object": read(SimpleNamespace(**VALUES)),
        "class": read(Settings),
        "inherited": read(Base),
        "mapping": read(VALUES),
        "module": read(module),
        "name": read("parity_settings"),
        "in a module": read("parity_settings:nested"),
        "in a module, by dots": read("parity_settings.nested"),
        "lazily": lazily(),
        "replaced": replaced(),
        "at first use": raised(lambda: missing.conf.task_default_queue)["error"],
        "forced": raised(read, "no_such_module_here", force=True)["error"],
        "silent": read("no_such_module_here", silent=True),
    }
