"""What Celery keeps beside the core: fixtures and workers for tests, tasks that can be aborted, Django."""
