"""The Celery adapter with a real worker on Postgres and on SQLite."""
