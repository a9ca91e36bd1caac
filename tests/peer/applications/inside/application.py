"""The application under test, with the replacement in the place of `celery` or with Celery itself.

`-A tests.peer.applications.inside.application` names it to both worker commands. The environment says which
profile, which side, and where what happened is written.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from tests.peer.applications.profile import read_profile

OURS = os.environ["PEER_SIDE"] == "ours"
PROFILE = read_profile(Path(os.environ["PEER_PROFILE"]))

if OURS:
    from river_compat import install_as

    install_as("celery")

from tests.peer.applications.inside import recording, stubbing  # noqa: E402 (they import celery)

stubbing.stay_on_this_machine()


def _set_up_django() -> None:
    if "DJANGO_SETTINGS_MODULE" in os.environ:
        import django

        django.setup()


def _load() -> Any:
    _set_up_django()
    module, _, name = PROFILE.app.partition(":")
    application = getattr(importlib.import_module(module), name)
    application.loader.import_default_modules()
    for other in PROFILE.modules:
        importlib.import_module(other)
    application.finalize()
    if not OURS and not application.conf.result_backend:
        application.conf.result_backend = os.environ["PEER_BROKER"]  # only to read the results to compare
    return application


app = _load()
for target, value in PROFILE.stubs.items():
    stubbing.replace(target, value)
recording.connect(Path(os.environ["PEER_RECORD"]))
