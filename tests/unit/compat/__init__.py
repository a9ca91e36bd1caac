"""The adapters' shared parts and the pure parts of the Celery adapter; no database."""
