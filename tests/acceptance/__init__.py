"""The real command and the real examples, from outside."""
