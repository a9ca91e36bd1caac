"""A worker by the application's package: it says which tasks it knows, runs them, ends by TERM. Row 15.1."""

from ..observation import outcome
from ..own import project

APP = """
from program.own import application

app = application("shop", include=["shop.tasks"])
"""
TASKS = """
from celery import shared_task


@shared_task
def add(x, y):
    return x + y


@shared_task(name="by.another.name")
def named():
    return named.name
"""
SHOWN = ("shop.tasks.add", "by.another.name", "ready")


def observe():
    with project() as own:
        own.write("shop/__init__.py", "")
        own.write("shop/celery.py", APP)
        own.write("shop/tasks.py", TASKS)
        worker = own.worker("-l", "INFO", "-c", "1", module="shop")
        seen = {
            "ran": [outcome(own.send("shop.tasks.add", 1, 2)), outcome(own.send("by.another.name"))],
            "shown": [text in worker.text() for text in (*SHOWN, own.queue)],
        }
        for text in ("shop.tasks.add[", "] received", "] succeeded in "):
            worker.wait_for(text)
        seen["exit"] = worker.stop()
        nowhere = own.celery("-A", "no_such_module_here", "worker")
        return {**seen, "no such module": [nowhere.wait() != 0, "no_such_module_here" in nowhere.text()]}
