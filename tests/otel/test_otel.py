"""Spans and metrics of inserts and attempts, and the context that travels in the metadata."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind, StatusCode

from river_core import (
    Client,
    ConfigurationError,
    InsertManyParams,
    Job,
    JobCancelError,
    JobInterruptedError,
    JobSnoozeError,
    Plugin,
    Registry,
    Task,
    UniqueOpts,
)
from river_core.drivers.base import Driver
from river_core.errors import MissingPackageError
from river_core.insert import EncodedArgs
from river_core.job import rfc3339
from river_core.otel import OpenTelemetry
from river_core.outcome import Cancelled, Completed, Failed, FollowUp, Snoozed
from river_core.testing import TestWorker
from tests.runtime.workers import next_event, registry, running

ONE = EncodedArgs("one", '{"secret": "hidden"}')


class Telemetry:
    """A plugin on providers of its own, and what it gave them."""

    def __init__(self, **options: Any) -> None:
        self.exporter = InMemorySpanExporter()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)
        self.plugin = OpenTelemetry(tracer_provider=self.tracers, meter_provider=self.meters, **options)

    def spans(self, prefix: str) -> list[ReadableSpan]:
        """The finished spans whose names begin so, oldest first."""
        return [span for span in self.exporter.get_finished_spans() if span.name.startswith(prefix)]

    def points(self) -> dict[str, list[Any]]:
        """All data points by the name of their metric."""
        data = self.reader.get_metrics_data()
        return {
            metric.name: list(metric.data.data_points)
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def worker(self, driver: Driver, task: Callable[[Job], Any], **options: Any) -> TestWorker:
        """A test worker with the plugin."""
        return TestWorker(driver, Registry().add("one", task), plugins=[self.plugin], **options)

    def close(self) -> None:
        """End the providers."""
        self.meters.shutdown()
        self.tracers.shutdown()


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    """With the plugin's defaults."""
    made = Telemetry()
    yield made
    made.close()


def traceparent_of(span: Any) -> str:
    """A span's context as W3C spells it."""
    found = span.get_span_context()
    return f"00-{found.trace_id:032x}-{found.span_id:016x}-{found.trace_flags:02x}"


def test_an_insert_has_a_span_and_leaves_its_context(driver: Driver, telemetry: Telemetry) -> None:
    """Below the span that is current; other metadata keeps its digits."""
    client = Client(driver, plugins=[telemetry.plugin])
    with telemetry.tracers.get_tracer("test").start_as_current_span("request") as request:
        job = client.insert(ONE, metadata={"number": 10**30}).job
    [span] = telemetry.spans("river.insert_many")
    assert span.kind is SpanKind.PRODUCER
    assert span.parent is not None
    assert span.parent.span_id == request.get_span_context().span_id
    assert span.status.status_code is StatusCode.OK
    assert dict(span.attributes or {}) == {
        "status": "ok",
        "kinds": ("one",),
        "unique_skipped_as_duplicate_count": 0,
    }
    stored = client.job_get(job.id)
    assert stored.metadata == {"number": 10**30, "traceparent": traceparent_of(span)}
    points = telemetry.points()
    assert points["river.insert_count"][0].value == points["river.insert_many_count"][0].value == 1
    assert points["river.insert_many_duration"][0].value > 0
    assert points["river.insert_many_duration_histogram"][0].count == 1


def test_baggage_and_trace_state_travel_too(driver: Driver, telemetry: Telemetry) -> None:
    """To the task, where both are current again, under W3C's keys."""
    seen: list[Any] = []

    def one(job: Job) -> None:
        seen.append((baggage.get_baggage("tenant"), trace.get_current_span().get_span_context()))
        assert job.client is not None
        job.client.insert(EncodedArgs("one", '{"child": true}'), pending=True)

    remote = trace.SpanContext(
        0xABC, 0xDEF, True, trace.TraceFlags(1), trace.TraceState([("vendor", "value")])
    )
    token = context.attach(
        baggage.set_baggage("tenant", "north", trace.set_span_in_context(trace.NonRecordingSpan(remote)))
    )
    try:
        job = Client(driver, plugins=[telemetry.plugin]).insert(ONE).job
    finally:
        context.detach(token)
    assert job.metadata["tracestate"] == "vendor=value"
    assert job.metadata["baggage"] == "tenant=north"
    telemetry.worker(driver, one).work_job(None, job).require("completed")
    [work] = telemetry.spans("river.work/")
    [_, child] = telemetry.spans("river.insert_many")
    assert seen[0][0] == "north"
    assert seen[0][1] == work.get_span_context()
    assert child.parent == work.get_span_context()
    assert Client(driver).job_get(2).metadata["baggage"] == "tenant=north"
    assert baggage.get_baggage("tenant") is None


def test_the_span_of_an_attempt_is_linked(driver: Driver, telemetry: Telemetry) -> None:
    """To that of the insert, however long ago; it is in a trace of its own."""
    job = Client(driver, plugins=[telemetry.plugin]).insert(ONE, tags=["red"], priority=2, queue="mail").job
    result = telemetry.worker(driver, lambda job: None).work_job(None, job)
    [insert], [work] = telemetry.spans("river.insert_many"), telemetry.spans("river.work/one")
    assert [link.context.span_id for link in work.links] == [insert.get_span_context().span_id]
    assert work.parent is None
    assert work.get_span_context().trace_id != insert.get_span_context().trace_id
    assert work.kind is SpanKind.CONSUMER
    shared = {"attempt": 1, "kind": "one", "priority": 2, "queue": "mail", "status": "ok", "tag": ("red",)}
    attributes = dict(work.attributes or {})
    times = {name: attributes.pop(name) for name in ("created_at", "scheduled_at")}
    assert attributes == {**shared, "id": job.id}
    assert times == {name: rfc3339(getattr(result.job, name)) for name in times}
    points = telemetry.points()
    for name in ("river.work_count", "river.work_duration", "river.work_duration_histogram"):
        assert dict(points[name][0].attributes) == shared
    assert "hidden" not in str([(span.name, span.attributes, span.events) for span in (insert, work)])


def test_or_it_is_the_child(driver: Driver) -> None:
    """For those who want one trace from the request to the end."""
    telemetry = Telemetry(work_span="child")
    job = Client(driver, plugins=[telemetry.plugin]).insert(ONE).job
    telemetry.worker(driver, lambda job: None).work_job(None, job)
    [insert], [work] = telemetry.spans("river.insert_many"), telemetry.spans("river.work/one")
    assert work.parent is not None
    assert work.parent.span_id == insert.get_span_context().span_id
    assert work.get_span_context().trace_id == insert.get_span_context().trace_id
    assert work.links == ()
    telemetry.close()


def test_without_propagation_nothing_is_stored(driver: Driver) -> None:
    """Nor read: spans are there all the same."""
    telemetry = Telemetry(enable_trace_propagation=False)
    job = Client(driver, plugins=[telemetry.plugin]).insert(ONE, metadata={"traceparent": "strange"}).job
    assert job.metadata == {"traceparent": "strange"}
    telemetry.worker(driver, lambda job: None).work_job(None, job).require("completed")
    [work] = telemetry.spans("river.work/one")
    assert work.links == ()
    telemetry.close()


class UnspeakableError(Exception):
    """An exception that cannot be described."""

    def __str__(self) -> str:
        raise ValueError("no words")


@pytest.mark.parametrize(
    ("ending", "status", "flags"),
    [
        (ValueError("no"), "error", {}),
        (UnspeakableError(), "error", {}),
        (Failed(ValueError("no")), "error", {}),
        (SystemExit(3), "panic", {}),
        (JobCancelError("enough"), "error", {"cancel": True}),
        (Cancelled("enough"), "error", {"cancel": True}),
        (JobSnoozeError(60), "ok", {"snooze": True}),
        (Snoozed(60), "ok", {"snooze": True}),
        (JobInterruptedError(), "ok", {"interrupt": True}),
        (Completed(), "ok", {}),
    ],
)
def test_how_an_attempt_ended(
    driver: Driver, telemetry: Telemetry, ending: Any, status: str, flags: dict[str, bool]
) -> None:
    """Raised or returned; snoozes and interruptions are no errors."""

    def one(job: Job) -> Any:
        if isinstance(ending, BaseException):
            raise ending
        return ending

    telemetry.worker(driver, one).work(None, ONE)
    [span] = telemetry.spans("river.work/one")
    attributes = dict(span.attributes or {})
    assert attributes["status"] == status
    assert {name: True for name in ("cancel", "snooze", "interrupt") if name in attributes} == flags
    assert span.status.status_code is (StatusCode.OK if status == "ok" else StatusCode.ERROR)
    assert attributes.get("snooze.duration") == ("60s" if "snooze" in flags else None)
    [point] = telemetry.points()["river.work_count"]
    assert dict(point.attributes)["status"] == status
    assert "id" not in point.attributes
    events = [event.name for event in span.events]
    assert events == ([] if status == "ok" or flags else ["exception"])
    if isinstance(ending, ValueError):
        recorded = dict(span.events[0].attributes or {})
        assert recorded["exception.type"] == "builtins.ValueError"
        assert recorded["exception.message"] == span.status.description == "no"
        assert "raise ending" in str(recorded["exception.stacktrace"])


def test_a_cancel_from_outside_is_told(driver: Driver, telemetry: Telemetry) -> None:
    """The task noticed it and raised something of its own."""

    def one(job: Job) -> None:
        job.stop(JobCancelError)
        raise ValueError("stopped early")

    result = telemetry.worker(driver, one).work(None, ONE)
    assert result.outcome == "cancelled"
    [span] = telemetry.spans("river.work/one")
    assert (span.attributes or {})["cancel"] is True


def test_an_insert_that_fails_is_an_error(driver: Driver, telemetry: Telemetry) -> None:
    """And one that finds its job there already is counted apart."""
    client = Client(driver, plugins=[telemetry.plugin])
    once = UniqueOpts(by_args=True)
    client.insert(ONE, unique_opts=once)
    client.insert(ONE, unique_opts=once)
    jobs = [InsertManyParams(EncodedArgs(kind, "{}")) for kind in ("two", "one", "two")]
    client.insert_many(jobs)
    with driver.connect() as connection:
        connection.run_script("ALTER TABLE river_job RENAME TO river_job_away")
    with pytest.raises(Exception, match="river_job"):
        client.insert(ONE)
    with driver.connect() as connection:
        connection.run_script("ALTER TABLE river_job_away RENAME TO river_job")
    first, second, third, last = telemetry.spans("river.insert_many")
    assert (first.attributes or {})["unique_skipped_as_duplicate_count"] == 0
    assert (second.attributes or {})["unique_skipped_as_duplicate_count"] == 1
    assert (third.attributes or {})["kinds"] == ("one", "two")
    assert last.status.status_code is StatusCode.ERROR
    points = telemetry.points()
    counted = {
        (point.attributes["status"], point.attributes["unique_skipped_as_duplicate"]): point.value
        for point in points["river.insert_count"]
    }
    assert counted == {("ok", False): 4, ("ok", True): 1, ("error", False): 1}
    calls = {point.attributes["status"]: point.value for point in points["river.insert_many_count"]}
    assert calls == {"ok": 3, "error": 1}


def test_semantic_metrics_and_milliseconds(driver: Driver) -> None:
    """Both are options; durations of the conventions are in seconds whatever the unit."""
    telemetry = Telemetry(enable_semantic_metrics=True, duration_unit="ms")

    def one(job: Job) -> None:
        job.wait_stopped(0.02)

    telemetry.worker(driver, one).work(None, ONE)
    points = telemetry.points()
    work = {"messaging.operation.name": "work", "messaging.system": "river"}
    [consumed] = points["messaging.client.consumed.messages"]
    assert (consumed.value, dict(consumed.attributes)) == (1, work)
    [process] = points["messaging.process.duration"]
    assert points["river.work_duration"][0].value == pytest.approx(process.sum * 1000)
    assert points["messaging.client.sent.messages"][0].value == 1
    operations = {
        point.attributes["messaging.operation.name"]
        for point in points["messaging.client.operation.duration"]
    }
    assert operations == {"work", "insert_many"}
    telemetry.close()


def test_a_worker_with_threads_and_its_claims(driver: Driver, telemetry: Telemetry) -> None:
    """Spans do not mix between slots, and what claims took is measured by queue."""
    both = threading.Barrier(2, timeout=60)
    seen: dict[int, trace.SpanContext] = {}

    def one(job: Job) -> None:
        both.wait()
        seen[job.row.id] = trace.get_current_span().get_span_context()

    client = Client(driver, plugins=[telemetry.plugin])
    with running(driver, registry(one=one), plugins=[telemetry.plugin]) as worker:
        events = worker.events.subscribe()
        jobs = [client.insert(ONE).job for _ in range(2)]
        for _ in jobs:
            assert next_event(events).kind == "job_completed"
    spans = {(span.attributes or {})["id"]: span for span in telemetry.spans("river.work/one")}
    assert {job_id: span.get_span_context() for job_id, span in spans.items()} == seen
    for job in jobs:
        assert job.metadata["traceparent"].split("-")[2] == f"{spans[job.id].links[0].context.span_id:016x}"
    points = telemetry.points()
    for name in ("river.job_get_available_count", "river.job_get_available_duration"):
        assert {point.attributes["queue"] for point in points[name]} == {"default"}
    assert sum(point.sum for point in points["river.job_get_available_count"]) == 2


@pytest.mark.parametrize("blocking", [False, True])
def test_coroutines_have_spans_of_their_own(driver: Driver, telemetry: Telemetry, blocking: bool) -> None:
    """On the one event loop too, and where another plugin keeps a thread for each of them."""
    seen: dict[int, trace.SpanContext] = {}
    both: list[int] = []

    async def one(job: Job) -> None:
        both.append(job.row.id)
        while len(both) < 2:
            await asyncio.sleep(0)
        seen[job.row.id] = trace.get_current_span().get_span_context()
        await asyncio.to_thread(Client.insert, job.client, EncodedArgs("next", "{}"), pending=True)

    class Surrounding(Plugin):
        def work(self, job: Job, operation: Any) -> Any:
            return operation()

    plugins = [telemetry.plugin, *([Surrounding()] if blocking else [])]
    with running(driver, registry(one=one, next=lambda job: None), plugins=plugins) as worker:
        events = worker.events.subscribe()
        for _ in range(2):
            Client(driver, plugins=[telemetry.plugin]).insert(ONE)
        for _ in range(2):
            assert next_event(events).kind == "job_completed"
    spans = {(span.attributes or {})["id"]: span for span in telemetry.spans("river.work/one")}
    assert {job_id: span.get_span_context() for job_id, span in spans.items()} == seen
    inserts = [span for span in telemetry.spans("river.insert_many") if span.parent is not None]
    assert {span.parent.span_id for span in inserts if span.parent} == {
        found.span_id for found in seen.values()
    }


def test_a_time_out_of_a_coroutine_is_an_error(driver: Driver, telemetry: Telemetry) -> None:
    """With River's exception, not asyncio's."""

    class Slow(Task):
        kind = "one"

        def timeout(self, job: Any) -> float:
            return 0.05

        async def work(self, job: Job) -> None:
            await asyncio.sleep(30)

    worker = TestWorker(driver, Registry().add(Slow()), plugins=[telemetry.plugin])
    assert worker.work(None, ONE).outcome == "retried"
    [span] = telemetry.spans("river.work/one")
    assert (span.attributes or {})["status"] == "error"
    assert span.status.description == "job timed out after 0.05s"


def test_follow_ups_carry_the_context_of_the_attempt(driver: Driver, telemetry: Telemetry) -> None:
    """An adapter's retry is inserted with the outcome, by no client; it is linked to what retried it."""
    params = Client(driver).row_to_insert(ONE, None, datetime.now(UTC))

    def one(job: Job) -> Completed:
        return Completed(follow_ups=(FollowUp(params, "next_id"),))

    result = telemetry.worker(driver, one).work(None, ONE)
    [work] = telemetry.spans("river.work/one")
    following = Client(driver).job_get(result.job.metadata["next_id"])
    assert following.metadata["traceparent"] == traceparent_of(work)


@pytest.mark.foreign_rows
@pytest.mark.parametrize("stored", ["nonsense", 7, None, "00-0-0-00", {"a": 1}])
def test_a_strange_context_is_none(driver: Driver, telemetry: Telemetry, stored: Any) -> None:
    """Whatever another client left there, the job runs."""
    metadata = {"traceparent": stored, "tracestate": stored, "baggage": stored}
    job = Client(driver).insert(ONE, metadata=metadata).job
    telemetry.worker(driver, lambda job: None).work_job(None, job).require("completed")
    [work] = telemetry.spans("river.work/one")
    assert work.links == ()


def test_without_an_sdk_it_does_nothing(driver: Driver) -> None:
    """The global providers are asked, which record nothing until an application sets them."""
    plugin = OpenTelemetry()
    job = Client(driver, plugins=[plugin]).insert(ONE).job
    assert job.metadata == {}
    worker = TestWorker(driver, Registry().add("one", lambda job: None), plugins=[plugin])
    worker.work_job(None, job).require("completed")


def test_what_is_not_sampled_still_has_a_context(driver: Driver) -> None:
    """Its flags say so, and whoever works the job follows them."""
    telemetry = Telemetry()
    tracers = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    plugin = OpenTelemetry(tracer_provider=tracers, meter_provider=telemetry.meters)
    job = Client(driver, plugins=[plugin]).insert(ONE).job
    flags = int(job.metadata["traceparent"].rpartition("-")[2], 16)
    assert not trace.TraceFlags(flags).sampled
    telemetry.close()


def test_wrong_options_are_refused() -> None:
    """By the value, with those that there are."""
    with pytest.raises(ConfigurationError, match="s or ms, not 'h'"):
        OpenTelemetry(duration_unit="h")  # type: ignore[arg-type] # the wrong value is the point
    with pytest.raises(ConfigurationError, match="link or child, not 'twin'"):
        OpenTelemetry(work_span="twin")  # type: ignore[arg-type] # the wrong value is the point


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the extra that brings it, as an ImportError and as one of ours."""
    for name in [name for name in sys.modules if name.startswith(("river_core.otel", "opentelemetry"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'river-compat\[otel\]'") as caught:
        import river_core.otel  # noqa: F401 - the import is the point
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value, ConfigurationError)


class TestCelery:
    """Rows of an adapter are named by their task."""

    def test_delay_to_retry_to_result(self, driver: Driver, telemetry: Telemetry) -> None:
        """`river_plugins` surrounds calls and attempts; the retry is linked to the run before."""
        from river_compat.celery import Celery
        from river_compat.celery.command import build_worker
        from river_core.testing import StubClock

        app = Celery("otel", set_as_current=False, river_driver=driver, river_plugins=[telemetry.plugin])

        @app.task(bind=True, name="shop.charge")
        def charge(self: Any, card: str) -> str:
            if self.request.retries == 0:
                raise self.retry(countdown=60)
            return "paid"

        charge.delay("4111-secret")
        clock = StubClock(datetime.now(UTC) + timedelta(seconds=1))
        worker = TestWorker.of(build_worker(app), clock=clock)
        worker.drain(None)
        clock.advance(100)
        [result] = worker.drain(None)
        assert result.job.metadata["output"] == "paid"
        [insert] = telemetry.spans("river.insert_many")
        first, second = telemetry.spans("river.work/shop.charge")
        assert (insert.attributes or {})["tasks"] == ("shop.charge",)
        assert first.links[0].context.span_id == insert.get_span_context().span_id
        assert second.links[0].context.span_id == first.get_span_context().span_id
        assert {(span.attributes or {})["task"] for span in (first, second)} == {"shop.charge"}
        attributes = [dict(point.attributes) for point in telemetry.points()["river.work_count"]]
        assert {(item["kind"], item["task"]) for item in attributes} == {("python_task", "shop.charge")}
        assert "4111" not in json.dumps([str(span.attributes) for span in (insert, first, second)])
        app.close()
