"""Helpers for tests of Celery applications."""
