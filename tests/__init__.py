"""The tests, by tier: unit, conformance, runtime, parity, acceptance, docs."""
