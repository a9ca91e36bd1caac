"""What an object has to do in a child that os.fork made of its process.

A child has a copy of every object and none of the threads: a lock that some thread held stays locked, and a
socket is shared with the parent.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable


def in_forked_child(method: Callable[[], object]) -> None:
    """Call a bound method in each forked child for as long as its object lives."""
    reference = weakref.WeakMethod(method)

    def call() -> None:
        alive = reference()
        if alive is not None:
            alive()

    os.register_at_fork(after_in_child=call)
