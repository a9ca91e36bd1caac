"""What the environment says wins over the code, or stands in for it. Rows 1.15, 15.14."""

import os

from ..own import project

OWN = """
import json
import os

from celery import Celery

app = Celery("environment", broker="memory://")
read = Celery("reads")
read.config_from_envvar("OWN_MODULE")
print("SEEN", json.dumps([
    app.conf.broker_url == os.environ["CELERY_BROKER_URL"],
    app.conf.broker_read_url == app.conf.broker_url,
    read.conf.task_default_queue,
    Celery("default").conf.task_default_queue,
    type(Celery("loader").loader).__name__,
]))
"""
SETTINGS = """
task_default_queue = "of the module"
"""


def observe():
    with project(own=OWN, celeryconfig=SETTINGS, other="task_default_queue = 'of another'\n") as own:
        env = {"CELERY_BROKER_URL": os.environ["PARITY_OWN_BROKER"], "OWN_MODULE": "other"}
        return own.start("-c", "import own", env={**env, "CELERY_CONFIG_MODULE": "celeryconfig"}).seen()
