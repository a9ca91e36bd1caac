"""Nothing: frameworks that look for `celery.apps`, as Django does for INSTALLED_APPS, find it."""
