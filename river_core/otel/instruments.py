"""What is measured, under the names of River's Go client, which dashboards may be made for already."""

from __future__ import annotations

from typing import Any

from opentelemetry.metrics import Meter

Attributes = dict[str, Any]

PREFIX = "river."
SYSTEM = "river"


class Instruments:
    """The instruments of one meter. Durations are taken in seconds and recorded in `unit`, `s` or `ms`."""

    def __init__(self, meter: Meter, unit: str, semantic: bool) -> None:
        """Make them; those of the semantic conventions only where `semantic` says so."""
        self._factor = 1000.0 if unit == "ms" else 1.0
        self._insert_count = meter.create_counter(PREFIX + "insert_count", "{job}", "Jobs inserted")
        self._insert_many_count = meter.create_counter(
            PREFIX + "insert_many_count", "{job_batch}", "Insert calls, each of one job or of many"
        )
        self._insert_many_duration = meter.create_gauge(
            PREFIX + "insert_many_duration", unit, "Duration of an insert call"
        )
        self._insert_many_histogram = meter.create_histogram(
            PREFIX + "insert_many_duration_histogram", unit, "Duration of insert calls"
        )
        self._work_count = meter.create_counter(PREFIX + "work_count", "{job}", "Attempts worked")
        self._work_duration = meter.create_gauge(PREFIX + "work_duration", unit, "Duration of an attempt")
        self._work_histogram = meter.create_histogram(
            PREFIX + "work_duration_histogram", unit, "Duration of attempts"
        )
        self._claim_count = meter.create_histogram(
            PREFIX + "job_get_available_count", "{job}", "Jobs that a claim took"
        )
        self._claim_duration = meter.create_histogram(
            PREFIX + "job_get_available_duration", unit, "Duration of claims"
        )
        self._messaging = Messaging(meter) if semantic else None

    def inserted(self, seconds: float, inserted: int, skipped: int, attributes: Attributes) -> None:
        """Record one insert call, and how many of its jobs were there already."""
        for count, duplicate in ((inserted, False), (skipped, True)):
            if count:
                self._insert_count.add(count, {**attributes, "unique_skipped_as_duplicate": duplicate})
        self._insert_many_count.add(1, attributes)
        self._insert_many_duration.set(seconds * self._factor, attributes)
        self._insert_many_histogram.record(seconds * self._factor, attributes)
        if self._messaging is not None:
            self._messaging.sent(seconds, inserted + skipped)

    def worked(self, seconds: float, attributes: Attributes) -> None:
        """Record one attempt."""
        self._work_count.add(1, attributes)
        self._work_duration.set(seconds * self._factor, attributes)
        self._work_histogram.record(seconds * self._factor, attributes)
        if self._messaging is not None:
            self._messaging.consumed(seconds)

    def claimed(self, name: str, value: float, queue: str) -> None:
        """Record a metric of the claim; others are none of ours."""
        if name == "job_get_available_count":
            self._claim_count.record(int(value), {"queue": queue})
        elif name == "job_get_available_duration":
            self._claim_duration.record(value * self._factor, {"queue": queue})


class Messaging:
    """Instruments of OpenTelemetry's conventions for messaging clients; durations are in seconds always."""

    def __init__(self, meter: Meter) -> None:
        """Make them."""
        self._consumed = meter.create_counter("messaging.client.consumed.messages", "{message}")
        self._sent = meter.create_counter("messaging.client.sent.messages", "{message}")
        self._operation = meter.create_histogram("messaging.client.operation.duration", "s")
        self._process = meter.create_histogram("messaging.process.duration", "s")

    def sent(self, seconds: float, count: int) -> None:
        """Record one insert call."""
        attributes = _operation("insert_many")
        self._operation.record(seconds, attributes)
        self._sent.add(count, attributes)

    def consumed(self, seconds: float) -> None:
        """Record one attempt."""
        attributes = _operation("work")
        self._consumed.add(1, attributes)
        self._operation.record(seconds, attributes)
        self._process.record(seconds, attributes)


def _operation(name: str) -> Attributes:
    return {"messaging.operation.name": name, "messaging.system": SYSTEM}
