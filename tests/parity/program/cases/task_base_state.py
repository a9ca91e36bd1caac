"""One instance per process: what a base class keeps on self lasts from call to call. Row 2.3."""

from celery import Task, shared_task

from ..observation import outcome


class Counting(Task):
    count = 0

    def next(self):
        self.count += 1
        return self.count


@shared_task(base=Counting, bind=True)
def count(self):
    return self.next()


def observe():
    return [outcome(count.delay()) for _ in range(3)]
