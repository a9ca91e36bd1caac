"""Starts the adapter; `docs/reference/conformance-adapter.md` says how the suite talks to it."""

from __future__ import annotations

import logging
import os
import sys
import threading

from river_core.conformance.database import open_database
from river_core.conformance.methods import Methods
from river_core.conformance.transport import answer, serve
from river_core.errors import ConfigurationError

EXIT_SECONDS = 25.0
"""The suite waits 30 seconds for the end of a process whose input it has closed."""


def main() -> int:
    """Answer requests until standard input ends; return the exit code."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    answers = _own_stdout()
    try:
        methods = Methods(open_database(os.environ))
    except ConfigurationError as error:
        sys.stderr.write(f"river_core.conformance: {error}\n")
        return 1
    try:
        serve(sys.stdin.buffer, answers, lambda line: answer(methods.call, line))
    finally:
        _leave_at_last()
        methods.shutdown()
    return 0


def _own_stdout() -> int:
    """Keep standard output for answers alone; what anybody else prints goes to standard error."""
    answers = os.dup(1)
    os.dup2(2, 1)
    return answers


def _leave_at_last() -> None:
    """End the process even if a job does not let go; the server then rolls back what is open."""
    timer = threading.Timer(EXIT_SECONDS, os._exit, (0,))
    timer.daemon = True
    timer.start()


if __name__ == "__main__":
    sys.exit(main())
