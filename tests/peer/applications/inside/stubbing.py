"""Keeps tasks from the outside world: no machine but this one, and functions replaced by values."""

from __future__ import annotations

import importlib
import ipaddress
import socket
from typing import Any

_LOCAL = {"localhost", "127.0.0.1", "::1", "", None}


def stay_on_this_machine() -> None:
    """Refuse every connection to another machine, and every look-up of its address, at once."""
    look_up, connect, connect_ex = socket.getaddrinfo, socket.socket.connect, socket.socket.connect_ex

    def getaddrinfo(host: Any, *arguments: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if not _is_local(name):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return look_up(host, *arguments, **options)

    def guarded(original: Any) -> Any:
        def call(self: socket.socket, address: Any) -> Any:
            if isinstance(address, tuple) and not _is_local(address[0]):
                raise ConnectionRefusedError(f"not from here: {address[0]}")
            return original(self, address)

        return call

    socket.getaddrinfo = getaddrinfo
    socket.socket.connect = guarded(connect)  # type: ignore[method-assign]
    socket.socket.connect_ex = guarded(connect_ex)  # type: ignore[method-assign]


def _is_local(host: Any) -> bool:
    if host in _LOCAL:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def replace(target: str, value: Any) -> None:
    """Let the function at `module:attribute`, or `module:Class.attribute`, return a value and do nothing."""
    module, _, path = target.partition(":")
    *owners, name = path.split(".")
    owner: Any = importlib.import_module(module)
    for part in owners:
        owner = getattr(owner, part)
    getattr(owner, name)  # a stub of what is not there would hide that the application changed
    setattr(owner, name, lambda *arguments, **options: value)
