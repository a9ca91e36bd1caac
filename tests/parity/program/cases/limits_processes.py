"""Rows 6.4, 15.2. Tasks run in processes of the pool, which they cannot end for others."""

import os

from celery import shared_task

from ..observation import outcome


@shared_task
def process():
    return [os.getpid() != os.getppid(), os.getppid() > 1]


@shared_task
def leaves():
    raise SystemExit(3)


def observe():
    ends = [outcome(task.delay()) for task in (process, leaves, process)]
    ends[1] = [ends[1]["state"], ends[1]["value"]["error"]]
    return ends
