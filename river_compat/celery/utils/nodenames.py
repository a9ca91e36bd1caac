"""Names of workers: `name@host` (`celery.utils.nodenames`)."""

from __future__ import annotations

import os
import re
import socket
from typing import Any

import kombu.entity

from river_compat.celery.utils.text import simple_format

__all__ = [
    "anon_nodename",
    "default_nodename",
    "gethostname",
    "host_format",
    "node_format",
    "nodename",
    "nodesplit",
    "worker_direct",
]

Exchange: Any = kombu.entity.Exchange
Queue: Any = kombu.entity.Queue
NODENAME_SEP = "@"
NODENAME_DEFAULT = "celery"
WORKER_DIRECT_EXCHANGE = "C.dq2"
WORKER_DIRECT_QUEUE_FORMAT = "{hostname}.dq2"
_START = re.compile(r"_[0-9a-f]{8}_py[lp]\Z")  # what tells two starts of one worker apart


def gethostname() -> str:
    """Return this machine's name."""
    return socket.gethostname()


def nodename(name: str, hostname: str) -> str:
    """Return `name@hostname`."""
    return f"{name}{NODENAME_SEP}{hostname}"


def anon_nodename(hostname: str | None = None, prefix: str = "gen") -> str:
    """Return the name of a process that only sends: `gen<pid>@<host>`."""
    return nodename(f"{prefix}{os.getpid()}", hostname or gethostname())


def nodesplit(name: str) -> Any:
    """Return name and host; the name is None where only the host is given."""
    first, separator, host = name.partition(NODENAME_SEP)
    return [first, host] if separator else (None, name)


def default_nodename(hostname: str | None, default_name: str = NODENAME_DEFAULT) -> str:
    """Complete a worker's name: `default_name` for a missing name, this machine for a missing host."""
    name, host = nodesplit(hostname or "")
    return nodename(name or default_name, host or gethostname())


def node_format(s: str, name: str, **extra: Any) -> str:
    """Fill in what stands for the parts of a worker's name, see `host_format`."""
    short, host = nodesplit(name)
    return host_format(s, host, short or NODENAME_DEFAULT, p=name, **extra)


def host_format(s: str, host: str | None = None, name: str | None = None, **extra: Any) -> str:
    """Fill in `%h` the host, `%n` the name, `%d` the domain, `%i` and `%I` the child (0 in the parent)."""
    host = host or gethostname()
    short, _, domain = host.partition(".")
    name = name or short
    return simple_format(s, {"h": host, "n": name, "d": domain, "i": "0", "I": "", **extra})


def worker_direct(hostname: Any) -> Any:
    """Return the queue that only one worker reads; here it is a name to give to that worker's `-Q`."""
    if isinstance(hostname, Queue):
        return hostname
    return Queue(
        WORKER_DIRECT_QUEUE_FORMAT.format(hostname=hostname), Exchange(WORKER_DIRECT_EXCHANGE), str(hostname)
    )


def of_client(client_id: str) -> str:
    """Return the name that a worker was given, from the id under which it claims rows."""
    return _START.sub("", client_id)
