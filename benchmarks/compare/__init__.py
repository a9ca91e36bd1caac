"""Side by side with Celery on Redis; run as `python -m benchmarks.compare`, or with `--quick`.

One program of tasks (`tasks.py`), two applications that differ by their import (`ours.py`, `theirs.py`), one
module a measurement. Ours works on a private, durable Postgres, Celery on a private Redis that keeps nothing
on disk, with the settings that were found best for it. The two sides take turns; what counts are the ratios
of their medians.
"""
