"""What the worker and its fork stage say to each other: records of three numbers, and a socket with one."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

# from the worker
FORK, KILL = 1, 2
# from the stage
FORKED, FAILED, EXITED, SENT = 3, 4, 5, 6

_RECORD = struct.Struct("<qqq")


@dataclass(frozen=True, slots=True)
class Record:
    """One order or report. `first` is a place on the board or a process id, `second` what belongs to it."""

    kind: int
    first: int
    second: int = 0


def send(connection: socket.socket, record: Record, descriptor: int | None = None) -> None:
    """Send a record, with an open file where one is given; raises OSError where nobody listens."""
    data = _RECORD.pack(record.kind, record.first, record.second)
    if descriptor is None:
        connection.sendall(data)
    else:
        socket.send_fds(connection, [data], [descriptor])


def receive(connection: socket.socket) -> tuple[Record, int | None] | None:
    """Wait for a record and the open file that came with it; None where the other end is gone."""
    data, descriptors = b"", []
    while len(data) < _RECORD.size:
        part, found, _, _ = socket.recv_fds(connection, _RECORD.size - len(data), 1)
        if not part:
            return None
        data += part
        descriptors.extend(found)
    return Record(*_RECORD.unpack(data)), descriptors[0] if descriptors else None
