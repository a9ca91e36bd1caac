"""The protocol's checklist: its statements, the tests that name them, and the page made of both."""
