"""A task is named after module and function, or as told, and the registry knows it by that name.

Rows 1.7, 1.8.
"""

from celery import shared_task
from celery.exceptions import NotRegistered

from ..app import app
from ..observation import shown


@shared_task
def plain():
    return None


@app.task
def of_the_app():
    return None


@shared_task(name="any text at all")
def told():
    return None


def lookup(name):
    try:
        return app.tasks[name].name
    except KeyError as error:
        return {"lookup": shown(error), "not_registered": isinstance(error, NotRegistered)}


def observe():
    names = [plain.name, of_the_app.name, told.name]
    return {
        "names": names,
        "found": [lookup(name) for name in names],
        "missing": lookup("nobody.knows.this"),
        "generated": app.gen_task_name("f", "some.module"),
    }
