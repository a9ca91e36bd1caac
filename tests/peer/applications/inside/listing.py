"""Writes which tasks the application has and with which arguments they are called.

python -m tests.peer.applications.inside.listing CALLS.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.peer.applications.inside.application import PROFILE, app
from tests.peer.applications.inside.arguments import made_up

_OWN = ("celery.", "river.")


def main() -> None:
    """Write the file. Tasks that come with Celery, or with us, are left out."""
    calls = {}
    for name in sorted(app.tasks):
        if name.startswith(_OWN):
            continue
        given = PROFILE.tasks.get(name, PROFILE.tasks.get(name.rpartition(".")[2]))
        calls[name] = made_up(app.tasks[name].run, PROFILE.arguments) if given is None else given
    Path(sys.argv[1]).write_text(json.dumps(calls, indent=1), "utf-8")


if __name__ == "__main__":
    main()
