"""One script, run by real Celery on Redis and by ours on Postgres and SQLite: the same is seen."""
