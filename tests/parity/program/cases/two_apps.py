"""A shared task belongs to every application; each application knows its own tasks only. Row 1.2."""

from celery import Celery, shared_task

from ..app import app as main_app

other = Celery("other", set_as_current=False)


@shared_task
def shared():
    return None


@other.task
def of_the_other():
    return None


@main_app.task(shared=False)
def of_the_main():
    return None


def observe():
    return {
        "shared": [shared.name in main_app.tasks, shared.name in other.tasks],
        "of_the_other": [of_the_other.name in main_app.tasks, of_the_other.name in other.tasks],
        "of_the_main": [of_the_main.name in main_app.tasks, of_the_main.name in other.tasks],
        "app": [shared.app is main_app, of_the_other.app is other],
        "main": [main_app.main, other.main],
    }
