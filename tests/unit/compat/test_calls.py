"""From a call to its row: options, times, priorities and headers."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from river_compat import envelope
from river_compat.celery import Celery
from river_compat.celery.exceptions import ImproperlyConfigured, QueueNotFound, UnsupportedFeature
from river_compat.celery.message import row_of
from river_compat.celery.message_headers import read_headers
from river_compat.celery.options import KNOWN, REFUSED, refuse
from river_compat.celery.priority import river_priority, scheme_of
from river_compat.celery.sending import Call, message_of
from river_compat.celery.timing import due, eta_text, expires_text, is_expired
from river_core.insert import InsertParams
from river_core.job import JobState

NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)


def row(app: Celery | None = None, *, args: Any = (), kwargs: Any = None, **options: Any) -> InsertParams:
    """The row of a call of a task that nobody registered."""
    app = app or Celery("calls", set_as_current=False)
    return row_of(message_of(app, Call("id-1", "proj.add", args, kwargs or {}, None, options), NOW), NOW)


def headers(params: InsertParams) -> dict[str, Any]:
    """What its envelope says in its headers."""
    return read_headers(envelope.decode(params.encoded_args, 1).headers)


def test_a_plain_call_is_an_available_row() -> None:
    """On the default queue, with River's budget for crashes and the protocol-2 body."""
    params = row(args=(1,), kwargs={"y": 2})
    call = envelope.decode(params.encoded_args, 1)
    assert (params.kind, params.queue, params.state, params.max_attempts, params.scheduled_at) == (
        "python_task", "celery", JobState.AVAILABLE, 25, None,
    )  # fmt: skip
    assert (call.id, call.framework, call.name, call.args_repr, call.kwargs_repr) == (
        "id-1", "celery", "proj.add", "(1,)", "{'y': 2}",
    )  # fmt: skip
    embedded = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
    assert call.body == json.dumps([[1], {"y": 2}, embedded])
    assert list(headers(params)) == ["origin"]


@pytest.mark.parametrize(
    ("seconds", "state", "in_the_row"),
    [
        (-1, JobState.AVAILABLE, False),
        (0, JobState.AVAILABLE, False),
        (2, JobState.AVAILABLE, True),
        (5, JobState.AVAILABLE, True),
        (5.5, JobState.SCHEDULED, True),
        (86400, JobState.SCHEDULED, True),
    ],
)
def test_what_is_due_soon_is_available_with_its_time(
    seconds: float, state: JobState, in_the_row: bool
) -> None:
    """River's scheduler looks every five seconds only."""
    params = row(countdown=seconds)
    assert params.state is state
    assert params.scheduled_at == (NOW + timedelta(seconds=seconds) if in_the_row else None)


@pytest.mark.parametrize(
    ("eta", "moment"),
    [
        (datetime(2026, 6, 1), datetime(2026, 6, 1, tzinfo=UTC)),  # noqa: DTZ001 - a naive time is the case
        ("2026-06-01T00:00:00", datetime(2026, 6, 1, tzinfo=UTC)),
        ("2026-06-01T02:00:00+02:00", datetime(2026, 6, 1, tzinfo=UTC)),
    ],
)
def test_a_naive_eta_is_utc_whatever_the_time_zone(eta: Any, moment: datetime) -> None:
    """As Celery's workers read it."""
    app = Celery("calls", set_as_current=False, timezone="Asia/Tokyo")
    assert row(app, eta=eta).scheduled_at == moment


def test_a_countdown_beats_an_eta() -> None:
    """And is written in the application's zone, as Celery writes it."""
    app = Celery("calls", set_as_current=False, timezone="Asia/Tokyo")
    params = row(app, countdown=60, eta=datetime(2000, 1, 1, tzinfo=UTC))
    assert params.scheduled_at == NOW + timedelta(seconds=60)
    assert headers(params)["eta"] == "2026-05-06T16:09:09+09:00"


def test_expiry_is_kept_as_an_absolute_time() -> None:
    """Also when it was given in seconds; text is taken as it is, for retries."""
    assert expires_text(10, UTC, NOW, "id") == "2026-05-06T07:08:19+00:00"
    assert expires_text("2026-05-06T07:08:19", UTC, NOW, "id") == "2026-05-06T07:08:19"
    assert not is_expired("2026-05-06T07:08:09+00:00", NOW)
    assert is_expired("2026-05-06T07:08:08.999", NOW)
    assert not is_expired(None, NOW)


def test_a_past_expiry_is_allowed_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    """It expires at once."""
    with caplog.at_level(logging.WARNING):
        assert headers(row(expires=-1))["expires"] < NOW.isoformat()
    assert "expired before it was sent" in caplog.text


@pytest.mark.parametrize("value", ["soon", object()])
def test_what_is_no_time_is_refused(value: Any) -> None:
    """Before anything is written."""
    with pytest.raises((ValueError, TypeError, AttributeError)):
        eta_text(None, value, UTC, NOW)


def test_no_time_is_at_once() -> None:
    """Nothing is scheduled."""
    assert due(None, NOW) == (JobState.AVAILABLE, None)


REDIS = [1, 1, 1, 2, 2, 2, 3, 3, 3, 4]


@pytest.mark.parametrize("priority", range(10))
def test_priorities_of_both_schemes(priority: int) -> None:
    """Redis has 0 first, RabbitMQ 9."""
    assert river_priority(priority, "redis") == REDIS[priority]
    assert river_priority(priority, "rabbitmq") == REDIS[9 - priority]


def test_no_priority_is_first_on_redis_and_last_on_rabbitmq() -> None:
    """As on those brokers."""
    assert [river_priority(None, scheme) for scheme in ("redis", "rabbitmq", None)] == [1, 4, 1]


@pytest.mark.parametrize("priority", [-1, 10, "3", 1.5, True])
def test_other_priorities_are_refused_and_never_clamped(priority: Any) -> None:
    """Checklist 158. Silence would put urgent work last."""
    with pytest.raises(ValueError, match="priority"):
        river_priority(priority, "redis")


def test_a_priority_without_a_scheme_names_the_setting() -> None:
    """Nothing is guessed."""
    with pytest.raises(ImproperlyConfigured, match="task_priority_scheme"):
        row(priority=3)


@pytest.mark.parametrize(
    ("setting", "broker", "scheme"),
    [
        (None, "redis://h", "redis"),
        (None, "amqp://h", "rabbitmq"),
        ("redis", "amqp://h", "redis"),
        (None, "sqs://", None),
        (None, None, None),
    ],
)
def test_the_old_broker_tells_the_scheme(setting: str | None, broker: str | None, scheme: str | None) -> None:
    """Unless the setting does."""
    assert scheme_of(setting, broker) == scheme


def test_the_callers_priority_is_kept() -> None:
    """`request.delivery_info` shows it."""
    app = Celery("calls", set_as_current=False, task_priority_scheme="rabbitmq")
    params = row(app, priority=7)
    assert (params.priority, headers(params)["priority"]) == (1, 7)


@pytest.mark.parametrize("option", sorted(REFUSED))
def test_options_of_later_issues_are_refused_by_name(option: str) -> None:
    """Nothing is ignored; nothing given is nothing."""
    with pytest.raises(UnsupportedFeature, match=option):
        refuse({option: 1})
    refuse({option: None})


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("coutdown", "countdown"),
        ("countdonw", "countdown"),
        ("queu", "queue"),
        ("prioritty", "priority"),
        ("etaa", "eta"),
        ("expire", "expires"),
    ],
)
def test_a_slip_of_the_pen_is_refused(slip: str, meant: str) -> None:
    """Celery would send it to the broker and forget it."""
    with pytest.raises(TypeError, match=f"'{meant}'"):
        refuse({slip: 1})


def test_known_options_are_no_slips_of_each_other() -> None:
    """Each known option passes the check for slips."""
    refuse(dict.fromkeys(KNOWN))


def test_other_keywords_reach_the_properties() -> None:
    """As kombu's `publish` keywords do."""
    refuse({"app_id": "x"})
    assert headers(row(app_id="x"))["properties"] == {"app_id": "x"}


def test_an_exchange_may_only_repeat_the_queue() -> None:
    """Or name one by a binding of `task_queues`; a key without a binding would reach nobody."""
    assert row(queue="mail", exchange="mail", routing_key="mail").queue == "mail"
    with pytest.raises(UnsupportedFeature, match="routing_key='mail'"):
        row(routing_key="mail")
    with pytest.raises(UnsupportedFeature, match="routing_key='other'"):
        row(queue="mail", routing_key="other")
    with pytest.raises(UnsupportedFeature, match="fanout"):
        refuse({"exchange_type": "fanout"})


def test_missing_queues_can_be_forbidden() -> None:
    """As `task_create_missing_queues = False` does."""
    app = Celery("calls", set_as_current=False, task_queues={"mail": {}}, task_create_missing_queues=False)
    assert row(app, queue="mail").queue == "mail"
    with pytest.raises(QueueNotFound):
        row(app, queue="other")


@pytest.mark.parametrize("name", ["", "q" * 128])
def test_a_queue_needs_a_name_that_fits(name: str) -> None:
    """1 to 127 characters."""
    with pytest.raises(ValueError, match="127 characters"):
        row(queue=name or " " * 200)


@pytest.mark.parametrize(("setting", "task", "attempts"), [
    ({}, None, 25), ({"task_acks_late": False}, None, 1), ({"task_acks_late": True}, None, 25),
    ({}, False, 1), ({}, True, 25), ({"task_acks_late": False}, True, 25),
])  # fmt: skip
def test_acks_late_false_on_purpose_means_at_most_once(
    setting: dict[str, bool], task: bool | None, attempts: int
) -> None:
    """A default of False means nothing, a False that somebody wrote does."""
    app = Celery("calls", set_as_current=False, **setting)
    options = {} if task is None else {"acks_late": task}
    add = app.task(lambda: None, name="add", shared=False, lazy=False, **options)
    params = row_of(message_of(app, Call("1", "add", (), {}, add, {}), NOW), NOW)
    assert params.max_attempts == attempts


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"countdown": float("nan")}, ValueError, "countdown=nan"),
        ({"countdown": 1e30}, OverflowError, r"countdown=1e\+30"),
        ({"countdown": float("inf")}, OverflowError, "countdown=inf"),
        ({"countdown": "5"}, TypeError, "countdown must be a number of seconds, not '5'"),
        ({"expires": float("nan")}, ValueError, "expires=nan"),
        ({"expires": 1e30}, OverflowError, r"expires=1e\+30"),
        ({"time_limit": "x"}, TypeError, "time_limit must be a number of seconds, not 'x'"),
        ({"soft_time_limit": float("nan")}, ValueError, "soft_time_limit=nan"),
        ({"headers": 5}, TypeError, "headers must be a mapping, not 5"),
        ({"headers": [1]}, TypeError, r"headers must be a mapping, not \[1\]"),
    ],
)
def test_a_bad_value_of_an_option_is_named(
    options: dict[str, Any], error: type[Exception], told: str
) -> None:
    """Its class is Celery's, where Celery refuses it at the call."""
    with pytest.raises(error, match=told):
        row(**options)
