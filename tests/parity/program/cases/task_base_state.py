"""One instance per process: what a base class keeps on self lasts from call to call. Row 2.3."""

import os

from celery import Task, shared_task


class Counting(Task):
    count = 0

    def next(self):
        self.count += 1
        return self.count


@shared_task(base=Counting, bind=True)
def count(self):
    return [os.getpid(), self.next()]


def observe():
    counts = {}
    for process, number in [count.delay().get(timeout=60) for _ in range(12)]:
        counts.setdefault(process, []).append(number)
    return all(numbers == list(range(1, len(numbers) + 1)) for numbers in counts.values())
