"""OpenTelemetry for clients and workers: `plugins=[OpenTelemetry()]` (River: rivercontrib's otelriver).

Needs the extra `otel`: importing this raises MissingPackageError without it.
"""

from river_core.errors import MissingPackageError

try:
    import opentelemetry.trace as _needed  # noqa: F401 - tells by a typed error what is missing
except ImportError as _missing:
    raise MissingPackageError(
        "river_core.otel needs the package opentelemetry-api: pip install 'river-compat[otel]'"
    ) from _missing

from river_core.otel.plugin import OpenTelemetry

__all__ = ["OpenTelemetry"]
