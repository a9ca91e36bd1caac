"""Two tasks of one name: the first function stays, a class takes its place, and it is said once. Row 1.6."""

import warnings

from celery import Celery, Task

SAME = "parity.duplicates.same"  # Celery tells of a name once in a process


class Third(Task):
    name = "parity.duplicates.taken"

    def run(self):
        return 3


def one():
    return 1


def two():
    return 2


def told(warned):
    return sum(type(item.message).__name__ == "DuplicateTaskNameWarning" for item in warned)


def observe():
    app = Celery("duplicates", set_as_current=False)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        first = app.task(one, name=SAME, shared=False)
        app.finalize()
        quiet = told(seen)
        second = app.task(two, name=SAME, shared=False)
        run = [first(), second(), app.tasks[SAME]()]
        app.task(two, name=SAME, shared=False)
        last = told(seen)
    with warnings.catch_warnings(record=True) as replaced:
        warnings.simplefilter("always")
        taken = app.task(one, name=Third.name, shared=False)
        app.register_task(Third())
    return {
        "first alone": quiet,
        "run": run,
        "told": last,
        "replaced": [app.tasks[Third.name](), taken.name, told(replaced)],
    }
