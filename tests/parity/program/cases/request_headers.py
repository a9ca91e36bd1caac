"""Custom headers reach the request, under headers and by name. Row 3.15."""

from celery import shared_task

from ..observation import outcome


@shared_task(bind=True)
def read(self):
    return [self.request.headers, getattr(self.request, "tenant", "no such header")]


def observe():
    return [
        outcome(read.apply_async(headers={"tenant": "acme", "nested": {"a": [1]}})),
        outcome(read.apply_async()),
    ]
