"""Connections as health checks and scripts use them: reached or not, purged, listed. Row 1.25."""

import os

from celery import Celery
from kombu import Queue
from kombu.exceptions import OperationalError

from ..app import app
from ..observation import new_id
from .app_construction import unreachable


def healthy(application, how):
    try:
        with getattr(application, how)() as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, interval_step=0)
            return [True, connection.connected]
    except OperationalError:
        return [False, "OperationalError of kombu"]


def acquired():
    with app.connection_or_acquire() as connection:
        connection.connect()
        given = connection
        with app.connection_or_acquire(given) as same:
            return [connection.connected, same is given]


def purged():
    queue = new_id()
    other = Celery(
        "purging",
        broker=os.environ["PARITY_BROKER"],
        backend=os.environ.get("PARITY_BACKEND"),
        set_as_current=False,
        task_queues=[Queue(queue)],
        task_default_queue=queue,
    )
    for _ in range(3):
        other.send_task("nobody.knows.it")
    return [list(other.amqp.queues), other.control.purge(), other.control.purge()][1:]


def observe():
    secret = Celery("uri", broker=f"{os.environ['PARITY_BROKER'].partition('://')[0]}://user:secret@host:1/1")
    app.set_current()
    named = Celery("queues", set_as_current=False, task_queues=[Queue("a"), Queue("b")])
    ways = ("connection", "connection_for_read", "connection_for_write")
    return {
        "reached": {how: healthy(app, how) for how in ways},
        "not_reached": {how: healthy(unreachable(), how) for how in ways[:1]},
        "acquired": acquired(),
        "queues": sorted(named.amqp.queues),
        "purged": purged(),
        "uri_hides": "secret" not in secret.connection().as_uri(),
    }
