"""The helpers for tests of applications, tested as those use them."""
