"""A Celery application of many small cases; copied and run once per backend (see ../README.md)."""
