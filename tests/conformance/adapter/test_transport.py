"""How the adapter talks: lines, ids, error codes, connections and the end of its input."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from tests.conformance.adapter.process import Adapter
from tests.conformance.adapter.scene import Scene, is_worked_once

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
NOT_FOUND, REJECTED = -32001, -32002
LARGE_ID = 2**63 - 1


def test_the_handshake_says_who_answers(scene: Scene) -> None:
    """Checklist 166. Driver, name and version."""
    handshake = scene.first.call("handshake")
    assert handshake["driver"] == ("postgres" if scene.is_postgres else "sqlite")
    assert handshake["implementation"] == "python"
    assert handshake["version"]


@pytest.mark.parametrize(
    "params", ["", ', "params": null', ', "params": {}'], ids=["absent", "null", "empty"]
)
def test_absent_params_are_empty_ones(on_sqlite: Scene, params: str) -> None:
    """An id of 64 bits comes back with all digits."""
    line = f'{{"jsonrpc": "2.0", "id": {LARGE_ID}, "method": "handshake"{params}}}'
    response = on_sqlite.first.exchange(line)
    assert response["id"] == LARGE_ID
    assert response["result"]["driver"] == "sqlite"


BROKEN = [
    ("no JSON", "{", PARSE_ERROR),
    ("empty", "", PARSE_ERROR),
    ("constant", '{"jsonrpc": "2.0", "id": 1, "method": NaN}', PARSE_ERROR),
    ("nested too deeply", "[" * 100_000, PARSE_ERROR),
    ("no object", "[]", INVALID_REQUEST),
    ("old version", '{"jsonrpc": "1.0", "id": 1, "method": "handshake"}', INVALID_REQUEST),
    ("no version", '{"id": 1, "method": "handshake"}', INVALID_REQUEST),
    ("id as text", '{"jsonrpc": "2.0", "id": "1", "method": "handshake"}', INVALID_REQUEST),
    ("id too large", f'{{"jsonrpc": "2.0", "id": {2**63}, "method": "handshake"}}', INVALID_REQUEST),
    ("method as number", '{"jsonrpc": "2.0", "id": 1, "method": 1}', INVALID_REQUEST),
    ("unknown method", '{"jsonrpc": "2.0", "id": 1, "method": "get"}', METHOD_NOT_FOUND),
    ("params as list", '{"jsonrpc": "2.0", "id": 1, "method": "list", "params": []}', INVALID_PARAMS),
]


@pytest.mark.parametrize(
    ("line", "code"), [(line, code) for _, line, code in BROKEN], ids=[b[0] for b in BROKEN]
)
def test_a_broken_line_is_answered_with_its_code(on_sqlite: Scene, line: str, code: int) -> None:
    """Checklist 166. The next line is answered as if nothing had been."""
    assert on_sqlite.first.exchange(line)["error"]["code"] == code
    assert on_sqlite.first.call("handshake")["implementation"] == "python"


UNFIT: list[tuple[str, dict[str, Any]]] = [
    ("handshake", {"unexpected": True}),
    ("insert", {"jobs": [{"message": "x", "opts": {"not_an_option": True}}]}),
    ("insert", {"jobs": [{"message": "x", "opts": {"unique": {"by": True}}}]}),
    ("insert", {"jobs": [{"message": 1}]}),
    ("insert", {"jobs": [{"duration_ms": 1.0}]}),
    ("insert", {"jobs": [{"duration_ms": True}]}),
    ("insert", {"jobs": [{"duration_ms": 2**63}]}),
    ("insert", {"jobs": {}}),
    ("insert", {"jobs": [{"opts": {"metadata": []}}]}),
    ("insert", {"jobs": [{"opts": {"scheduled_at": "tomorrow"}}]}),
    ("insert", {"jobs": [{"opts": {"scheduled_at": "2026-02-30T00:00:00Z"}}]}),
    ("insert", {"jobs": [{"opts": {"unique": {"by_args": True, "by_state": ["done"]}}}]}),
    ("cancel", {"id": "1"}),
    ("retry", {"job_id": 1}),
    ("list", {"direction": "up"}),
    ("list", {"order_by": "kind"}),
    ("list", {"states": ["done"]}),
    ("list", {"after": "no cursor"}),
    ("migrate", {"direction": "sideways"}),
    ("queue", {"action": "remove", "name": "default"}),
    ("queue", {"name": "default"}),
    ("release", {"barrier": "x"}),
    ("request_resign", {"leader": "x"}),
    ("start", {"client_id": "x", "not_an_option": 1}),
    ("start", {"client_id": "x", "worker_kinds": ["other"]}),
    ("start", {"client_id": "x", "periodic_unique": True}),
    ("start", {"client_id": "x", "tuning": {"cleaner_interval_ms": 1}}),
    ("stats", {"since": 1}),
    ("stop", {"cancel": 1}),
    ("tx_begin", {}),
    ("tx_begin", {"tx": ""}),
    ("tx_end", {"commit": True}),
]


@pytest.mark.parametrize(("method", "params"), UNFIT, ids=[f"{m} {json.dumps(p)[:60]}" for m, p in UNFIT])
def test_params_that_do_not_fit_are_refused(on_sqlite: Scene, method: str, params: dict[str, Any]) -> None:
    """Checklist 166. Unknown fields, other types, values outside an enumeration, impossible combinations."""
    assert on_sqlite.first.refuse(method, **params) == INVALID_PARAMS


def test_what_does_not_exist_is_not_found(scene: Scene) -> None:
    """Checklist 166. Jobs, queues and transactions."""
    adapter = scene.first
    for method in ("cancel", "retry"):
        assert adapter.refuse(method, id=LARGE_ID) == NOT_FOUND
        assert adapter.refuse(method, id=0) == NOT_FOUND
        assert adapter.refuse(method, id=1, tx="none") == NOT_FOUND
    for action in ("pause", "resume", "update"):
        assert adapter.refuse("queue", action=action, name="unworked") == NOT_FOUND
    assert adapter.refuse("tx_end", tx="none") == NOT_FOUND
    assert adapter.refuse("list", tx="none") == NOT_FOUND
    assert adapter.refuse("request_resign", tx="none") == NOT_FOUND


def test_what_river_refuses_is_rejected(scene: Scene) -> None:
    """Checklist 166. Validation, wrong state, a second start, a database that does not play along."""
    adapter = scene.first
    assert adapter.refuse("insert", jobs=[]) == REJECTED
    assert adapter.refuse("insert", jobs=[scene.echo("x", priority=5)]) == REJECTED
    assert adapter.refuse("list", limit=10_001) == REJECTED
    assert adapter.refuse("list", order_by="finalized_at", states=["running"]) == REJECTED
    assert adapter.refuse("migrate", target_version=99) == REJECTED
    assert adapter.refuse("list", schema="not there") == REJECTED
    assert adapter.refuse("list", schema="elsewhere") == REJECTED
    assert adapter.refuse("stats") == adapter.refuse("stop") == REJECTED
    assert adapter.refuse("start", client_id="x", max_workers=10_001) == REJECTED
    assert adapter.refuse("start", client_id="x", worker_kinds=["conformance_echo"] * 2) == REJECTED
    refused = {"client_id": "x", "periodic_run_on_start": True, "leader_election_disabled": True}
    assert adapter.refuse("start", **refused) == REJECTED
    scene.start(adapter, "twice")
    assert adapter.refuse("start", client_id="again") == REJECTED
    adapter.call("tx_begin", tx="twice")
    assert adapter.refuse("tx_begin", tx="twice") == REJECTED
    assert adapter.call("tx_end", tx="twice") == {}
    assert adapter.call("stop") == {}
    assert adapter.refuse("stop") == REJECTED


def test_a_line_of_megabytes_is_read_and_written(on_sqlite: Scene) -> None:
    """Requests come in lines of up to 64 MiB."""
    message = "é" * 8_000_000
    job = on_sqlite.insert(on_sqlite.first, message)
    assert job["args"]["message"] == message


def test_nothing_but_answers_is_written_to_standard_output(on_sqlite: Scene) -> None:
    """Failing jobs are logged to standard error meanwhile."""
    job = on_sqlite.insert(on_sqlite.first, "x", "error", max_attempts=1)
    assert on_sqlite.work_one(on_sqlite.first, "logs", job["id"])["state"] == "discarded"
    assert on_sqlite.first.call("handshake")["driver"] == "sqlite"


def test_the_end_of_input_stops_everything(scene: Scene) -> None:
    """Checklist 166. Running jobs are cancelled and given back, transactions rolled back, the code is 0."""
    with scene.third() as adapter:
        scene.start(adapter, "ended", max_workers=2, claim_barrier="never released")
        job = scene.insert(adapter, "running", "cooperative_cancel")
        scene.wait(job["id"], "running")
        adapter.call("tx_begin", tx="open")
        scene.insert_many(adapter, [scene.echo("uncommitted", tags=["uncommitted"])], tx="open")
        assert adapter.end_input() == 0
    given_back = scene.both(job["id"])
    assert (given_back["state"], given_back["attempt"], given_back["errors"]) == ("available", 0, [])
    assert scene.listed(scene.first, tags_all=["uncommitted"]) == []
    assert scene.term() is None


@pytest.mark.parametrize(
    "environment",
    [
        {"RIVER_CONFORMANCE_DRIVER": "mysql", "RIVER_CONFORMANCE_DATABASE_URL": "x"},
        {"RIVER_CONFORMANCE_DRIVER": "sqlite", "RIVER_CONFORMANCE_DATABASE_URL": ""},
    ],
)
def test_an_environment_that_cannot_be_used_ends_it(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a code other than 0 and a reason."""
    url = environment["RIVER_CONFORMANCE_DATABASE_URL"]
    adapter = Adapter(environment["RIVER_CONFORMANCE_DRIVER"], url, "x")
    output, errors = adapter.process.communicate(timeout=60)
    assert adapter.process.returncode == 1
    assert output == b""
    assert b"RIVER_CONFORMANCE_" in errors


ACTIVITY = "SELECT pid, query FROM pg_stat_activity WHERE application_name = %s"


@pytest.mark.postgres
def test_every_connection_has_the_given_name_and_there_are_ten_at_most(
    on_postgres: Scene, observer: psycopg.Connection[Any]
) -> None:
    """The listener included; its last statement is LISTEN, by which the suite finds it."""
    adapter = on_postgres.first
    on_postgres.start(
        adapter, "named", queues=[f"q{number}" for number in range(12)], periodic_run_on_start=True
    )
    adapter.call("tx_begin", tx="held")
    on_postgres.insert_many(adapter, [on_postgres.echo("held")], tx="held")
    on_postgres.wait_term()
    seen = observer.execute(ACTIVITY, [adapter.application_name]).fetchall()
    adapter.call("tx_end", tx="held")
    assert 2 <= len(seen) <= 10
    assert len([query for _, query in seen if query.startswith("LISTEN ")]) == 1


@pytest.mark.postgres
def test_connections_that_were_cut_are_not_used_again(
    on_postgres: Scene, observer: psycopg.Connection[Any]
) -> None:
    """The suite ends the server's side of them; the next request finds a new one, and the worker goes on."""
    adapter = on_postgres.first
    on_postgres.start(adapter, "cut", fetch_poll_interval_ms=100)
    on_postgres.wait_term()
    for _ in range(3):
        query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
        assert observer.execute(query, [adapter.application_name]).fetchall()
        job = on_postgres.insert(adapter, "after the cut")
        assert is_worked_once(on_postgres.wait(job["id"]), "cut")
