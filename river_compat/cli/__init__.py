"""The `river-compat` command: one module per command, each imported when it runs."""
