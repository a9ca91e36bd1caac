"""`install_as`, in processes of their own: what a process has imported cannot be taken back."""

from __future__ import annotations

import subprocess
import sys

import pytest

import river_compat
from river_core.errors import ConfigurationError

ALIASED = """
import river_compat
river_compat.install_as("celery")
river_compat.install_as("celery")
import celery, celery.app.task
from celery.contrib.testing.worker import start_worker
from celery.exceptions import Retry
from celery import shared_task
import river_compat.celery.exceptions as ours
assert Retry is ours.Retry
assert celery is river_compat.celery
assert celery.app.task.Task is river_compat.celery.Task
assert river_compat.celery.__spec__.name == "river_compat.celery"
assert celery.__name__ == "river_compat.celery"
try:
    import celery.security
except ImportError as error:
    print(error)
import importlib.util
assert importlib.util.find_spec("celery.models") is None
assert importlib.util.find_spec("celery.apps") is not None
try:
    import celery.no_such_module
except ModuleNotFoundError as error:
    print(error.name)
"""
TOO_LATE = """
import celery, river_compat
from river_core.errors import ConfigurationError
try:
    river_compat.install_as("celery")
except ConfigurationError as error:
    print(error)
"""


def _printed(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_imports_of_celery_give_our_modules() -> None:
    """The very modules, not copies; what is missing is refused and never taken from the library."""
    refusal, missing = _printed(ALIASED).splitlines()
    assert "celery.security is not supported by river_compat" in refusal
    assert missing == "celery.no_such_module"


def test_it_is_refused_once_the_library_is_there() -> None:
    """Two Celerys in one process would share nothing."""
    assert "before anything imports it" in _printed(TOO_LATE)


def test_another_name_is_refused() -> None:
    """By name, with those that exist."""
    with pytest.raises(ConfigurationError, match="'celery'"):
        river_compat.install_as("kombu")
