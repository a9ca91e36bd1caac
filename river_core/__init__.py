"""A complete River client and worker runtime for Python."""
