"""What a test does when the machine lacks something: a named skip on a laptop, a failure in CI."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def missing(what: str) -> NoReturn:
    """End the test: `what` says what is missing and how to get it. CI has everything, so there it fails."""
    if os.environ.get("CI"):
        pytest.fail(f"CI must have it: {what}", pytrace=False)
    pytest.skip(what)
