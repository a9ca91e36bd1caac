"""The package of Celery's result backends, of which there is one here: the tasks' own rows."""
