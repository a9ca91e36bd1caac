"""River's conformance adapter, driven as River's own harness drives it: by lines of JSON-RPC."""
