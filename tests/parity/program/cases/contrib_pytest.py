"""Fixtures and marker of Celery's pytest plugin, and a worker in a thread. Rows 17.1, 17.2."""

import re

from ..observation import new_id, outcome
from ..own import PACKAGE, application, project, start_worker

MODULE = """
import pytest

from celery import shared_task


@pytest.fixture(scope="session")
def celery_config():
    return {"broker_url": "memory://", "result_backend": "cache+memory://", "task_default_queue": "tested"}


@pytest.fixture(scope="session")
def celery_parameters():
    return {"strict_typing": False}


@shared_task
def multiply(x, y):
    return x * y


def test_worker(celery_app, celery_worker):
    @celery_app.task
    def add(x, y):
        return x + y

    celery_worker.reload()
    assert add.delay(4, 4).get(timeout=60) == 8
    assert multiply.delay(3, 3).get(timeout=60) == 9
    assert celery_app.conf.task_default_queue == "tested"
    assert not celery_app.strict_typing


@pytest.mark.celery(result_expires=77)
def test_marker(celery_app):
    assert celery_app.conf.result_expires == 77


def test_includes(celery_includes, celery_worker_pool, celery_worker_parameters, celery_enable_logging):
    assert [list(celery_includes), celery_worker_pool, celery_enable_logging] == [[], "solo", False]


def test_fails(celery_app):
    assert celery_app.conf.task_default_queue == "another"
"""


def observe():
    app = application(task_default_queue=new_id(), set_as_current=False)

    @app.task(name="contrib.add")
    def add(x, y):
        return x + y

    with project(test_own=MODULE) as own:
        plugins = ("-p", f"{PACKAGE}.contrib.pytest", "-p", "no:cacheprovider", "-q", "--no-header")
        run = own.start("-m", "pytest", *plugins, "test_own.py", env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
        code = run.wait()
        counts = re.findall(r"(\d+) (passed|failed|error)", run.text().splitlines()[-1])
        seen = {"exit": code, "counts": counts, "failed": re.findall(r"FAILED \S+::(\w+)", run.text())}
    with start_worker(app, perform_ping_check=False, concurrency=1, pool="solo", loglevel="info") as worker:
        seen["worker"] = [outcome(add.delay(1, 2)), isinstance(worker.hostname, str)]
    return seen
