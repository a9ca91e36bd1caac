"""River's schema, one migration for each of its versions."""
