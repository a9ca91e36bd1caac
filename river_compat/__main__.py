"""`python -m river_compat`: the same as the `river-compat` command."""

from __future__ import annotations

import sys

from river_compat.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
