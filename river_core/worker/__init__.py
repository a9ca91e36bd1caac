"""The runtime: blocking code in named threads; see `river_core.worker.worker`."""
