"""A variable of the environment names the module of the settings. Row 1.13."""

import os
import sys
from types import ModuleType

from celery import Celery

from ..observation import raised

NAME = "PARITY_SETTINGS_MODULE"


def new():
    return Celery("variable", set_as_current=False)


def read(value, **options):
    os.environ[NAME] = value
    app = new()
    try:
        app.config_from_envvar(NAME, **options)
        return app.conf.task_default_queue
    finally:
        del os.environ[NAME]


def observe():
    module = sys.modules["parity_variable_settings"] = ModuleType("parity_variable_settings")
    module.task_default_queue = "of the module"
    unset = raised(new().config_from_envvar, NAME)
    return {
        "named": read("parity_variable_settings"),
        "forced": read("parity_variable_settings", force=True),
        "unset": [unset["error"], NAME in unset["text"]],
        "unset, silently": new().config_from_envvar(NAME, silent=True),
        "no such module": raised(read, "no_such_module_here")["error"],
        "no such module, silently": read("no_such_module_here", silent=True),
    }
