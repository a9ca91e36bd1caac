"""An exception of the application comes back as its own class. Row 7.6."""

from celery import shared_task

from ..observation import WAIT, shown


class AppError(Exception):
    pass


class DetailedError(AppError):
    def __str__(self):
        return f"{self.args[0]} ({self.args[1]})"


@shared_task
def fail_simple():
    raise AppError("simple")


@shared_task
def fail_detailed():
    raise DetailedError("detailed", 7)


@shared_task
def fail_bare():
    raise AppError


def observe():
    seen = []
    for task in (fail_simple, fail_detailed, fail_bare):
        try:
            task.delay().get(timeout=WAIT)
        except AppError as error:
            seen.append([type(error) is AppError, isinstance(error, DetailedError), shown(error)])
    return seen
