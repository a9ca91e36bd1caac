"""OpenTelemetry, with the exporters of its SDK that keep everything in memory."""
