"""Coroutines inside of tasks, and a coroutine task that is called as a function. Row 2.29."""

import asyncio
import inspect

from celery import shared_task

from ..observation import outcome


@shared_task
async def double(x):
    await asyncio.sleep(0)
    return 2 * x


@shared_task
def runs_a_loop(x):
    return asyncio.run(double(x))


async def both():
    return await asyncio.gather(double(1), double(2))


def observe():
    return {
        "in_a_task": [outcome(runs_a_loop.delay(4)) for _ in range(2)],
        "called": [inspect.iscoroutinefunction(double.run), asyncio.run(both())],
    }
