"""Everything that knows SQL, as values; nothing here does I/O."""
