"""Tasks that are declared lazily, twice, by class, from a base. Rows 1.8, 1.18, 1.23."""

import warnings

from celery import Celery, Task


class Base(Task):
    abstract = True

    def greet(self):
        return f"I am {self.name}"


class Doubled(Task):
    name = "doubled"

    def run(self, x):
        return x * 2


def one():
    return 1


def two():
    return 2


def declared():
    app = Celery("declared", set_as_current=False, task_cls=Base)

    task = app.task(one, name="one", shared=False)
    before = task.name
    app.finalize()
    return [before, task.name, task.greet(), "one" in app.tasks]


def twice():
    app = Celery("twice", set_as_current=False)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        first = app.task(one, name="same", shared=False)
        second = app.task(two, name="same", shared=False)
        results = [first(), second()]
        app.register_task(Doubled())
    names = [type(item.message).__name__ for item in seen]
    return [results, "DuplicateTaskNameWarning" in names, app.tasks["doubled"](4)]


def not_finalized():
    app = Celery("late", set_as_current=False, autofinalize=False)
    try:
        return sorted(app.tasks)
    except RuntimeError:
        app.finalize()
        return "celery.chain" in app.tasks


def annotated():
    app = Celery("annotated", set_as_current=False)
    app.conf.task_annotations = {"*": {"max_retries": 9}, "named": {"default_retry_delay": 2}}
    named = app.task(one, name="named", shared=False)
    other = app.task(one, name="other", shared=False)
    return [[task.max_retries, task.default_retry_delay] for task in (named, other)]


def observe():
    builtin = [
        "accumulate",
        "backend_cleanup",
        "chain",
        "chord",
        "chord_unlock",
        "chunks",
        "group",
        "map",
        "starmap",
    ]
    app = Celery("own", set_as_current=False)
    return {
        "declared": declared(),
        "twice": twice(),
        "not_finalized": not_finalized(),
        "annotated": annotated(),
        "builtin": [f"celery.{name}" in app.tasks for name in builtin],
    }
