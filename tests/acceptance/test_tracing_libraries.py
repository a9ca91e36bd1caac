"""Sentry's and OpenTelemetry's own integrations with Celery, unchanged, on an application of ours.

Row 22.8.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.acceptance.commands import environment, run

WORKED = """
import json
import threading

import river_compat

river_compat.install_as("celery")

{before}

from celery import Celery
from celery.worker import WorkController

app = Celery("traced", broker="sqlite:///traced.db", worker_hijack_root_logger=False)


@app.task
def fail():
    return 1 / 0


@app.task(bind=True)
def again(self):
    if not self.request.retries:
        raise self.retry(exc=KeyError("later"), countdown=0)


def send():
    return [fail.delay(), again.delay()]


worker = WorkController(app=app, pool="threads", concurrency=1)
thread = threading.Thread(target=worker.start)
thread.start()
with {around}:
    sent = send()
for result in sent:
    result.get(timeout=60, propagate=False)
worker.stop()
thread.join(60)
print(json.dumps({seen}))
"""
SENTRY = """
import contextlib

import sentry_sdk
from sentry_sdk.integrations.celery import CeleryIntegration
from sentry_sdk.transport import Transport

events = []


class Kept(Transport):
    def capture_envelope(self, envelope):
        for item in envelope.items:
            event = item.get_event() or item.get_transaction_event()
            if event:
                errors = [value["type"] for value in event.get("exception", {}).get("values", [])]
                events.append([event["transaction"], errors, event["contexts"]["trace"]["trace_id"]])


sentry_sdk.init(
    dsn="http://key@localhost/1",
    transport=Kept(),
    integrations=[CeleryIntegration()],
    default_integrations=False,
    traces_sample_rate=1.0,
)
"""
OTEL = """
import contextlib

from opentelemetry import trace
from opentelemetry.instrumentation.celery import CeleryInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
CeleryInstrumentor().instrument()


def told(span):
    names = [event.attributes["exception.type"] for event in span.events]
    return [span.name, span.attributes.get("celery.state"), names, str(span.context.trace_id)]
"""


def traced(folder: Path, before: str, around: str, seen: str) -> Any:
    """Run the application with a library in place; return what the library has recorded."""
    assert run("migrate", "up", cwd=folder, env={"RIVER_DATABASE_URL": "sqlite:///traced.db"}).code == 0
    script = WORKED.format(before=before, around=around, seen=seen)
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_sentry_gets_one_event_for_each_failure(tmp_path: Path) -> None:
    """With the task's name; retries and tasks stay in the trace of their caller."""
    events = traced(tmp_path, SENTRY, 'sentry_sdk.start_transaction(name="caller")', "events")
    errors = [(name, found) for name, found, _ in events if found]
    assert errors == [("traced.fail", ["ZeroDivisionError"])]
    names = sorted(name for name, found, _ in events if not found)
    assert names == ["caller", "traced.again", "traced.again", "traced.fail"]
    assert len({trace for _, _, trace in events}) == 1


def test_opentelemetry_follows_tasks_and_retries(tmp_path: Path) -> None:
    """A span for each call and for each run, those of one task in one trace."""
    seen = "[told(span) for span in spans.get_finished_spans()]"
    spans = traced(tmp_path, OTEL, "contextlib.nullcontext()", seen)
    shown = sorted((name, state, errors) for name, state, errors, _ in spans if state)
    assert shown == [
        ("run/traced.again", "RETRY", []),
        ("run/traced.again", "SUCCESS", []),
        ("run/traced.fail", "FAILURE", ["ZeroDivisionError"]),
    ]
    again = [(name, trace) for name, _, _, trace in spans if name.endswith("again")]
    assert len({trace for _, trace in again}) == 1
    assert len(again) == 4
