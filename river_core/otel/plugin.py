"""The plugin: a span and measurements around every insert call and every attempt."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from opentelemetry import context, metrics, trace
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import Span, SpanKind, TracerProvider

from river_core.errors import ConfigurationError
from river_core.insert import InsertParams, InsertResult
from river_core.job import JobRow, rfc3339
from river_core.otel import endings
from river_core.otel.endings import Ending
from river_core.otel.instruments import PREFIX, Attributes, Instruments
from river_core.otel.propagation import around, extracted, injected, injected_follow_ups
from river_core.outcome import Outcome
from river_core.plugins import AwaitedWorkOperation, InsertOperation, Metric, Plugin, WorkOperation
from river_core.task import Job
from river_core.task_name import task_name

NAME = "river_core.otel"
UNITS = ("s", "ms")
PARENTS = ("link", "child")


class OpenTelemetry(Plugin):
    """Spans `river.insert_many` and `river.work/<kind>`, and River's metrics (River: otelriver.Middleware).

    Rows of an adapter are named by their task instead of the kind. Arguments of jobs are never recorded.
    """

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        duration_unit: Literal["s", "ms"] = "s",
        enable_semantic_metrics: bool = False,
        enable_trace_propagation: bool = True,
        work_span: Literal["link", "child"] = "link",
    ) -> None:
        """Take the global providers unless others are given.

        `enable_trace_propagation` stores the context of an insert in the job's metadata; the span of an
        attempt is linked to it, or its child where `work_span` is `child`. `duration_unit` is for the
        metrics of River; `enable_semantic_metrics` adds those of OpenTelemetry's messaging conventions.
        Raises ConfigurationError for another unit or kind of span.
        """
        if duration_unit not in UNITS:
            raise ConfigurationError(f"duration_unit is {' or '.join(UNITS)}, not {duration_unit!r}")
        if work_span not in PARENTS:
            raise ConfigurationError(f"work_span is {' or '.join(PARENTS)}, not {work_span!r}")
        self._tracer = (tracer_provider or trace.get_tracer_provider()).get_tracer(NAME)
        meter = (meter_provider or metrics.get_meter_provider()).get_meter(NAME)
        self._instruments = Instruments(meter, duration_unit, enable_semantic_metrics)
        self._propagates = enable_trace_propagation
        self._is_child = work_span == "child"

    def insert_many(self, params: list[InsertParams], operation: InsertOperation) -> list[InsertResult]:
        """Surround an insert call, and give its jobs the context of its span."""
        began = time.perf_counter()
        results: Sequence[InsertResult] = ()
        ending = endings.of_outcome(None)
        with self._tracer.start_as_current_span(
            PREFIX + "insert_many",
            kind=SpanKind.PRODUCER,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                results = operation([injected(item) for item in params] if self._propagates else params)
                return list(results)
            except BaseException as error:
                ending = endings.of_error(error)
                raise
            finally:
                self._inserted(span, ending, time.perf_counter() - began, params, results)

    def _inserted(
        self,
        span: Span,
        ending: Ending,
        seconds: float,
        params: Sequence[InsertParams],
        results: Sequence[InsertResult],
    ) -> None:
        skipped = sum(result.unique_skipped_as_duplicate for result in results)
        attributes: Attributes = {"status": ending.status}
        ending.mark(span)
        if span.is_recording():
            span.set_attributes(
                {**attributes, "unique_skipped_as_duplicate_count": skipped, **_kinds(params)}
            )
        self._instruments.inserted(seconds, len(params) - skipped, skipped, attributes)

    def work(self, job: Job, operation: WorkOperation) -> Outcome | None:
        """Surround an attempt, in the baggage of the insert."""
        with self._attempt(job) as attempt:
            return attempt.ended(operation())

    async def work_awaited(self, job: Job, operation: AwaitedWorkOperation) -> Outcome | None:
        """Do the same around a coroutine."""
        with self._attempt(job) as attempt:
            return attempt.ended(await operation())

    @contextmanager
    def _attempt(self, job: Job) -> Iterator[Attempt]:
        producer = extracted(job.row) if self._propagates else context.Context()
        parent, links = around(producer, self._is_child)
        task = task_name(job.row.kind, job.row.encoded_args)
        name = f"{PREFIX}work/{task or job.row.kind}"
        span = self._tracer.start_span(name, parent, SpanKind.CONSUMER, links=links)
        attempt = Attempt(job, self._propagates)
        token = context.attach(trace.set_span_in_context(span, parent))
        began = time.perf_counter()
        try:
            yield attempt
        except BaseException as error:
            attempt.ending = endings.of_error(error, job)
            raise
        finally:
            context.detach(token)
            self._worked(span, attempt.ending, time.perf_counter() - began, job.row, task)

    def _worked(self, span: Span, ending: Ending, seconds: float, row: JobRow, task: str | None) -> None:
        attributes = {**_attributes(row, task), "status": ending.status, **ending.flags}
        ending.mark(span)
        if span.is_recording():
            span.set_attributes({**attributes, **_details(row), **ending.details})
        span.end()
        self._instruments.worked(seconds, attributes)

    def metric_emit(self, metric: Metric) -> None:
        """Record how many jobs a claim took, and in what time."""
        self._instruments.claimed(metric.name, metric.value, metric.queue)


@dataclass(slots=True)
class Attempt:
    """An attempt inside its span."""

    job: Job
    propagates: bool
    ending: Ending = field(default_factory=lambda: endings.of_outcome(None))

    def ended(self, outcome: Outcome | None) -> Outcome | None:
        """Take the outcome, and return it with the span's context in the jobs that it inserts."""
        self.ending = endings.of_outcome(outcome, self.job)
        return injected_follow_ups(outcome) if self.propagates else outcome


def _attributes(row: JobRow, task: str | None) -> Attributes:
    """Return what is said of an attempt in spans and metrics alike: few values, and no arguments."""
    named = {"task": task} if task is not None else {}
    return {
        "attempt": row.attempt,
        "kind": row.kind,
        "priority": row.priority,
        "queue": row.queue,
        "tag": tuple(row.tags),
        **named,
    }


def _details(row: JobRow) -> dict[str, Any]:
    """Return what spans alone can hold: values that are different for every job."""
    return {
        "id": row.id,
        "created_at": rfc3339(row.created_at),
        "scheduled_at": rfc3339(row.scheduled_at),
    }


def _kinds(params: Sequence[InsertParams]) -> Attributes:
    kinds = sorted({item.kind for item in params})
    named = {task_name(item.kind, item.encoded_args) for item in params}
    tasks = sorted(name for name in named if name is not None)
    return {"kinds": kinds, **({"tasks": tasks} if tasks else {})}
