"""A task that has expired is received, and told as revoked. Row 13.8."""

from datetime import UTC, datetime, timedelta

from celery import shared_task, signals

from ..observation import new_id, note, wait_for_notes

NAME = "parity.signals_revoked.late"


@shared_task(name=NAME)
def late(key):
    note(key, "ran")


@signals.task_revoked.connect
def revoked(sender=None, request=None, terminated=None, signum=None, expired=None, **kwargs):
    if sender.name == NAME:
        note(request.id, [terminated, signum, expired, len(request.args), sorted(kwargs)])


def observe():
    task_id = new_id()
    late.apply_async((task_id,), task_id=task_id, expires=datetime.now(UTC) - timedelta(seconds=9))
    return wait_for_notes(task_id)
