"""The class that every task of an application has: given, replaced, or by its path. Row 1.22."""

from celery import Celery, Task


class Counting(Task):
    abstract = True
    calls = 0

    def __call__(self, *args, **kwargs):
        type(self).calls += 1
        return super().__call__(*args, **kwargs)

    def greet(self):
        return f"I am {self.name}"


class Special(Counting):
    abstract = True

    def greet(self):
        return "I am special"


def one():
    return 1


def greeting(self):
    return self.greet()


def made(**options):
    app = Celery("classes", set_as_current=False, **options)
    if not options:
        app.Task = Counting
    first = app.task(one, name="one", shared=False)
    bound = app.task(greeting, name="two", bind=True, shared=False)
    own = app.task(one, name="three", base=Special, shared=False)
    seen = [first.greet(), bound(), own.greet(), first(), own()]
    return [*seen, isinstance(first._get_current_object(), Counting), app.tasks["celery.chain"].greet()]


def observe():
    before = Counting.calls
    return {
        "given": made(task_cls=Counting),
        "by path": made(task_cls=f"{__name__}:Counting"),
        "replaced": made(),
        "called": Counting.calls - before,
    }
