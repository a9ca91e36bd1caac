"""NaN travels both ways. Row 19.1."""

import math

from celery import shared_task

from ..observation import WAIT


@shared_task
def is_nan(value):
    return [math.isnan(value), value]


def observe():
    inside, back = is_nan.delay(float("nan")).get(timeout=WAIT)
    return [inside, math.isnan(back)]
