"""`python -m river_compat.celery`: the command line of Celery, for unit files and scripts that call it."""

from __future__ import annotations

import sys
from importlib import import_module

if __name__ == "__main__":
    sys.exit(import_module("river_compat.cli.celery_main").main())
