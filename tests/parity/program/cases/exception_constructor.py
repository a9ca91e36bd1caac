"""Exceptions whose constructor takes other arguments than they keep still come back as something.

Row 7.6.
"""

from celery import shared_task

from ..observation import outcome


class TwoArgumentsError(Exception):
    def __init__(self, code, text):
        super().__init__(f"{code}: {text}")
        self.code = code


class KeywordOnlyError(Exception):
    def __init__(self, *, code):
        super().__init__()
        self.code = code


class FullArgumentsError(Exception):
    def __init__(self, code, text):
        super().__init__(code, text)
        self.code = code


@shared_task
def fail_two():
    raise TwoArgumentsError(5, "five")


@shared_task
def fail_keyword():
    raise KeywordOnlyError(code=6)


@shared_task
def fail_full():
    raise FullArgumentsError(7, "seven")


def observe():
    return [outcome(task.delay()) for task in (fail_two, fail_keyword, fail_full)]
