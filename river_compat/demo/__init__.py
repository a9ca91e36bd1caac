"""The demonstration: a small Celery application and the SQL that shows what became of its tasks.

`shop.py` and `rows.sql` are copied into `.river-demo/`, where the reader can run and change them;
`examples/celery_quickstart/` shows the same files.
"""
