"""Everything that does I/O with a database; nothing here knows what a job is."""
