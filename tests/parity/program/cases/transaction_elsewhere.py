"""A transaction of another database holds no call back: the task runs before it ends. Row 3.25."""

import sqlite3
from contextlib import closing

from celery import shared_task

from ..observation import outcome


@shared_task
def add(x, y):
    return x + y


def inside(end):
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("create table thing (x)")
        connection.execute("begin")
        connection.execute("insert into thing values (1)")
        seen = outcome(add.delay(2, 3))
        is_open = connection.in_transaction
        connection.execute(end)
        return [seen, is_open, connection.execute("select count(*) from thing").fetchone()[0]]


def observe():
    return {"committed": inside("commit"), "rolled_back": inside("rollback")}
