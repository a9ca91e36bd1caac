"""Memory that the worker and its children share: which job of those that a child was given it has started.

A few numbers for each child. The child writes `started` before a job and `done` after its end was sent, both
as the job's number in order of sending. The worker writes `generation`: a child starts no job that was sent
under another one, so raising it takes all back that was not started, without the child's help.
"""

from __future__ import annotations

import mmap
import threading
import time

MAX_CHILDREN = 4096
FIELDS = 4
BYTES = MAX_CHILDREN * FIELDS * 8
SETTLE_SECONDS = 0.001
GENERATION, STARTED, DONE, TERMINATED = range(FIELDS)


class Board:
    """The memory of all children of a worker."""

    def __init__(self, file: int = -1) -> None:
        """Take memory: of a file that a spawned process can open, or shared by forking alone."""
        self._memory = mmap.mmap(file, BYTES)
        self._numbers = memoryview(self._memory).cast("q")
        self._free = list(range(MAX_CHILDREN - 1, -1, -1))
        self._lock = threading.Lock()

    def take(self) -> Place:
        """Return a place for a new child, with nothing started."""
        with self._lock:
            place = Place(self, self._free.pop())
        place.begin()
        return place

    def place(self, index: int) -> Place:
        """Return the place of a child, as that child uses it."""
        return Place(self, index)

    def give_back(self, place: Place) -> None:
        """Let another child have the place of one that is gone."""
        with self._lock:
            self._free.append(place.index)

    @property
    def numbers(self) -> memoryview:
        """The numbers of all places."""
        return self._numbers


class Place:
    """The numbers of one child."""

    __slots__ = ("_at", "_numbers", "index")

    def __init__(self, board: Board, index: int) -> None:
        """Stand for the child of that index."""
        self.index = index
        self._at = index * FIELDS
        self._numbers = board.numbers

    def begin(self) -> None:
        """Forget what the child before has started."""
        for field in (STARTED, DONE, TERMINATED):
            self._numbers[self._at + field] = 0

    @property
    def generation(self) -> int:
        """What the child compares with what a job was sent under."""
        return self._numbers[self._at + GENERATION]

    @property
    def started(self) -> int:
        """The number of the last job that the child started."""
        return self._numbers[self._at + STARTED]

    @started.setter
    def started(self, number: int) -> None:
        self._numbers[self._at + STARTED] = number

    @property
    def done(self) -> int:
        """The number of the last job whose end the child has sent."""
        return self._numbers[self._at + DONE]

    @done.setter
    def done(self, number: int) -> None:
        self._numbers[self._at + DONE] = number

    @property
    def terminated(self) -> int:
        """The number of the job that may be ended by SIGTERM."""
        return self._numbers[self._at + TERMINATED]

    @terminated.setter
    def terminated(self, number: int) -> None:
        self._numbers[self._at + TERMINATED] = number

    def take_back(self) -> None:
        """Let the child start nothing that it was sent so far; what it has started is known after this.

        The child writes `started` and looks at the generation after that, so either it sees the new one,
        or its start is seen here.
        """
        self._numbers[self._at + GENERATION] += 1
        time.sleep(SETTLE_SECONDS)
