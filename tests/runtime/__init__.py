"""Workers, maintenance and adapters over a real database."""
