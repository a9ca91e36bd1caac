"""Fixtures of these tests."""

from __future__ import annotations

from tests.conformance.conftest import application

__all__ = ["application"]
