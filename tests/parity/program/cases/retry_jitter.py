"""Full jitter: the delay is any whole number up to the back-off. Row 5.12."""

import random
from unittest import mock

from celery import shared_task
from celery.utils.time import get_exponential_backoff_interval


def jittering(**options):
    @shared_task(name=f"parity.jitter.{sorted(options.items())}", autoretry_for=(ValueError,), **options)
    def fails():
        raise ValueError("again")

    return fails


def delays(task, retries):
    """Return what the task asks its delay to be, with the dice on the largest and on the smallest."""
    seen = []
    for dice in (lambda stop: stop - 1, lambda stop: 0):
        task.push_request(retries=retries, called_directly=False)
        asked = mock.patch.object(task._get_current_object(), "retry", side_effect=KeyError)
        with mock.patch.object(random, "randrange", side_effect=dice), asked as retry:
            try:
                task.run()
            except KeyError:
                seen.append(retry.call_args.kwargs.get("countdown"))
        task.pop_request()
    return seen


def observe():
    with mock.patch.object(random, "randrange", side_effect=lambda stop: stop) as dice:
        formula = [get_exponential_backoff_interval(2, retries, 100, True) for retries in range(8)]
    many = [get_exponential_backoff_interval(1, 3, 600, True) for _ in range(2000)]
    return {
        "formula": [formula, dice.call_count],
        "all_values": sorted(set(many)),
        "on": [delays(jittering(retry_backoff=3), retries) for retries in (0, 2)],
        "off": [delays(jittering(retry_backoff=3, retry_jitter=False), retries) for retries in (0, 2)],
        "capped": delays(jittering(retry_backoff=3, retry_backoff_max=5), 4),
    }
