"""`python -m tests.acceptance.workflows URL [COUNT [SEED]]`: the long form, by hand."""

from __future__ import annotations

import sys
import tempfile
from contextlib import closing
from pathlib import Path

from river_core import open_driver
from tests.acceptance.workflows.running import MAX_FAULTS, Plan, examine
from tests.databases import migrate

LONG = 10_000


def main(url: str, count: str = str(LONG), seed: str = "1") -> int:
    """Run, print what was found, and return 1 for a fault."""
    with closing(open_driver(url)) as driver:
        migrate(driver)
    with tempfile.TemporaryDirectory() as folder:
        found = examine(url, Path(folder), Plan(int(count), int(seed)))
    sys.stdout.write("\n".join([str(found), *found.faults[:MAX_FAULTS], ""]))
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
