"""One case per module: its tasks, and `observe()`, which returns what a user of it can see."""
