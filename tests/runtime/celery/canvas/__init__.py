"""Workflows by real workers on both databases."""
