"""What an object has to do in a child that os.fork made of its process.

A child has a copy of every object and none of the threads: a lock that some thread held stays locked, and a
socket is shared with the parent. A fork that a task makes in a child process of a worker is *astray*: it must
neither answer for the task nor take jobs, and signals mean for it what they mean for any process.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable
from typing import NoReturn

_HANDLED = frozenset({signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP, signal.SIGUSR1})
_astray: set[int] = set()
_before = threading.local()


def in_forked_child(method: Callable[[], object]) -> None:
    """Call a bound method in each forked child for as long as its object lives."""
    reference = weakref.WeakMethod(method)

    def call() -> None:
        alive = reference()
        if alive is not None:
            alive()

    os.register_at_fork(after_in_child=call)


def let_forks_stray() -> None:
    """Treat every later fork of this process, a child of a worker, as one that a task made.

    Signals wait until a fork handles them as its own: the interpreter would forget one that comes before.
    """
    os.register_at_fork(before=_hold_signals, after_in_parent=_let_signals_pass, after_in_child=_go_astray)


def is_astray() -> bool:
    """Tell whether this process was forked by a task."""
    return bool(_astray) and os.getpid() in _astray  # asked twice a job: mostly without a system call


def leave_by(error: BaseException) -> NoReturn:
    """End a process that is astray as an interpreter ends: by the code of `sys.exit`, 1 for another error."""
    code = error.code if isinstance(error, SystemExit) else 1
    end_process(0 if code is None else code if isinstance(code, int) else 1)


def end_process(code: int) -> NoReturn:
    """End a forked process without what the process that it came from has registered for its own end."""
    try:
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    finally:
        os._exit(code & 0xFF)


def _hold_signals() -> None:
    _before.mask = signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)


def _let_signals_pass() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _before.mask)


def _go_astray() -> None:
    _astray.add(os.getpid())
    for number in _HANDLED:
        signal.signal(number, signal.SIG_DFL)
    _let_signals_pass()
