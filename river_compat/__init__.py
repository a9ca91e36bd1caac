"""Celery's and RQ's APIs on top of `river_core`: `river_compat.celery` and `river_compat.rq`."""
