"""The parts of an application that run Celery's command line in this process."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module


class CommandLine:
    """`app.start` and `app.worker_main`."""

    def start(self, argv: Sequence[str] | None = None) -> int:
        """Run a command, the process's own by default, and return its exit code."""
        arguments = sys.argv[1:] if argv is None else list(argv)
        code: int = import_module("river_compat.cli.celery_main").main(arguments, self)
        return code

    def worker_main(self, argv: Sequence[str] | None = None) -> int:
        """Run the worker; raises ValueError where the arguments do not name that command."""
        arguments = sys.argv[1:] if argv is None else list(argv)
        if "worker" not in arguments:
            raise ValueError(
                "The worker sub-command must be specified in argv; use app.start() for other commands"
            )
        return self.start(arguments)
