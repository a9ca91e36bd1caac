"""Celery's tasks for Django."""
