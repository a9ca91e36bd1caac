"""A task without a limit has none: nothing is set in its process that would end it. Row 10.3."""

import signal

from celery import shared_task

from ..observation import outcome


@shared_task(bind=True)
def unlimited(self):
    return [
        self.request.timelimit,
        self.time_limit,
        self.soft_time_limit,
        *signal.getitimer(signal.ITIMER_REAL),
    ]


def observe():
    return outcome(unlimited.delay())
