"""Makes the application's tables, and runs the file that fills them, if there is one.

python -m tests.peer.applications.inside.preparing
"""

from __future__ import annotations

import os
import runpy
from pathlib import Path

from tests.peer.applications.inside import stubbing
from tests.peer.applications.inside.application import PROFILE


def main() -> None:
    """Apply the migrations of a Django project, then the profile's seed, which sends nothing."""
    stubbing.replace("celery:Task.apply_async", None)
    if "DJANGO_SETTINGS_MODULE" in os.environ:
        from django.core.management import call_command

        call_command("migrate", verbosity=0, interactive=False)
    if PROFILE.seed:
        runpy.run_path(str(Path(os.environ["PEER_PROFILE"]).parent / PROFILE.seed))


if __name__ == "__main__":
    main()
