"""The context of a trace in a job's metadata: W3C's keys at its top level, as of River's Go client."""

from __future__ import annotations

import json
from dataclasses import replace

from opentelemetry import baggage, context, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from river_core.insert import InsertParams
from river_core.job import JobRow
from river_core.json_text import merge_objects
from river_core.outcome import Completed, Failed, FollowUp, Outcome

KEYS = ("traceparent", "tracestate", "baggage")

_propagator = CompositePropagator([TraceContextTextMapPropagator(), W3CBaggagePropagator()])


def injected(params: InsertParams) -> InsertParams:
    """Return the job with the current context in its metadata; other keys keep their spelling."""
    carrier: dict[str, str] = {}
    _propagator.inject(carrier)
    if not carrier:
        return params
    try:
        merged = merge_objects(params.encoded_metadata, json.dumps(carrier))
    except ValueError:  # no JSON object: whoever checks the row says so
        return params
    return replace(params, encoded_metadata=merged)


def injected_follow_ups(outcome: Outcome | None) -> Outcome | None:
    """Return the outcome with the current context in the jobs that it inserts, as an adapter's retry is."""
    if not isinstance(outcome, Completed | Failed) or not outcome.follow_ups:
        return outcome
    follow_ups = (FollowUp(injected(item.params), item.metadata_key) for item in outcome.follow_ups)
    return replace(outcome, follow_ups=tuple(follow_ups))


def extracted(row: JobRow) -> Context:
    """Return the context in which the job was inserted; an empty one where nobody said."""
    if not any(key in row.encoded_metadata for key in KEYS):
        return Context()
    metadata = row.metadata
    carrier = {key: metadata[key] for key in KEYS if isinstance(metadata.get(key), str)}
    return _propagator.extract(carrier, Context())


def around(producer: Context, as_child: bool) -> tuple[Context, list[trace.Link]]:
    """Return the context of an attempt, and the links of its span.

    That is the current one with the producer's baggage, and where the span is to be its child with the
    producer's span; else that is linked.
    """
    here = context.get_current()
    for key, value in baggage.get_all(producer).items():
        here = baggage.set_baggage(key, value, here)
    span = trace.get_current_span(producer)
    if not span.get_span_context().is_valid:
        return here, []
    if as_child:
        return trace.set_span_in_context(span, here), []
    return here, [trace.Link(span.get_span_context())]
