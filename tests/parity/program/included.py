"""A module that nobody imports but the worker, since `include` names it (the case app_include)."""

from celery import shared_task


@shared_task
def answer(x):
    return [x, __name__]
