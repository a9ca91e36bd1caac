"""The adapter by which River's conformance suite drives this client (`python -m river_core.conformance`).

It answers the suite's JSON-RPC requests, one a line, by calls of the public client and a worker. Nothing
in the product imports it.
"""
