"""Where calls go: `task_routes` in all forms, bindings of `task_queues`, and what is refused."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from kombu import Exchange, Queue
from kombu.common import Broadcast

from river_compat.celery import Celery
from river_compat.celery.app.topics import binds
from river_compat.celery.exceptions import QueueNotFound, UnsupportedFeature
from river_compat.celery.message import Message
from river_compat.celery.sending import Call, message_of


def make(**settings: Any) -> Celery:
    return Celery("routing", set_as_current=False, broker="sqlite:///unused.db", **settings)


def message(app: Celery, name: str = "feeds.tasks.pull", **options: Any) -> Message:
    task = app.tasks.get(name)
    return message_of(app, Call("1", name, (1, 2), {"kw": 3}, task, options), datetime.now(UTC))


def by_function(name: str, args: Any, kwargs: Any, options: Any, task: Any = None, **kw: Any) -> Any:
    return {"queue": "by-function", "priority": 9} if name.startswith("feeds") else None


class OldRouter:
    """What `task_routes` took before Celery 4."""

    def route_for_task(self, task: str, args: Any = None, kwargs: Any = None) -> Any:
        return "by-object"


ROUTES = [
    ({"feeds.tasks.pull": "exact"}, "exact"),
    ({"feeds.tasks.pull": {"queue": "exact"}}, "exact"),
    ({"feeds.*": "glob"}, "glob"),
    ([[("feeds.tasks.p*", {"queue": "first"}), ("feeds.*", "second")]], "first"),
    ({re.compile(r"(feeds|mail)\.tasks\..*"): {"queue": "regex"}}, "regex"),
    (by_function, "by-function"),
    ([{"other": "x"}, by_function], "by-function"),
    ([OldRouter()], "by-object"),
    (f"{__name__}.by_function", "by-function"),
    (f"{__name__}:OldRouter", "by-object"),
    ({"nothing": "x"}, "celery"),
    ({"feeds.*": "glob", "feeds.tasks.pull": "exact"}, "exact"),
]


@pytest.mark.parametrize(("routes", "queue"), ROUTES)
def test_a_route_gives_the_queue(routes: Any, queue: str) -> None:
    """Row 9.2: names, globs, regular expressions, functions, objects and paths; the first answer counts."""
    assert message(make(task_routes=routes, task_priority_scheme="redis")).queue == queue


def test_what_a_call_gives_wins_over_its_route() -> None:
    """None gives nothing."""
    app = make(task_routes={"*": {"queue": "route", "priority": 9}}, task_priority_scheme="redis")
    assert (message(app, queue="call").queue, message(app, queue=None).queue) == ("call", "route")
    assert (message(app, priority=0).priority, message(app, priority=None).priority) == (1, 4)


def test_a_router_of_the_call_takes_the_place_of_the_settings() -> None:
    """As Celery's `router=`."""
    app = make(task_routes={"*": "settings"})
    seen: list[Any] = []

    def asked(*args: Any, **kwargs: Any) -> None:
        seen.append((args[:3], kwargs))

    router = app.amqp.Router([asked], app.amqp.queues, True, app)
    assert message(app, router=router).queue == "celery"
    assert seen == [(("feeds.tasks.pull", (1, 2), {"kw": 3}), {"task": None})]


QUEUES = [
    Queue("direct", Exchange("x"), routing_key="key"),
    Queue("topic", Exchange("t", type="topic"), routing_key="feed.#"),
    Queue("words", Exchange("w", type="topic"), routing_key="a.*.c"),
]


@pytest.mark.parametrize(
    ("options", "queue"),
    [
        ({"exchange": "x", "routing_key": "key"}, "direct"),
        ({"routing_key": "feed.import"}, "topic"),
        ({"routing_key": "feed"}, "topic"),
        ({"exchange": "t", "routing_key": "feed.a.b"}, "topic"),
        ({"exchange": Exchange("w", type="topic"), "routing_key": "a.b.c"}, "words"),
        ({"queue": "topic", "routing_key": "feed.import"}, "topic"),
        ({"queue": QUEUES[0]}, "direct"),
        ({"queue": Queue("other")}, "other"),
        ({"queue": "mail", "exchange": "mail", "routing_key": "mail"}, "mail"),
    ],
)
def test_a_binding_names_the_queue(options: dict[str, Any], queue: str) -> None:
    """Row 9.6, and O52."""
    assert message(make(task_queues=QUEUES), **options).queue == queue


@pytest.mark.parametrize(
    "options",
    [
        {"routing_key": "nowhere"},
        {"exchange": "x", "routing_key": "feed.import"},
        {"queue": "direct", "routing_key": "feed.import"},
        {"queue": Queue("all", Exchange("all", type="fanout"))},
        {"queue": Broadcast("all")},
        {"exchange": Exchange("h", type="headers"), "routing_key": "x"},
        {"exchange_type": "fanout", "queue": "q"},
    ],
)
def test_what_reaches_none_or_several_is_refused(options: dict[str, Any]) -> None:
    """Row 9.6: by name, with the way out."""
    app = make(task_queues=QUEUES)
    with pytest.raises(UnsupportedFeature, match="queue"):
        app.send_task("feeds.tasks.pull", **options)


def test_an_exchange_and_a_key_of_one_name_are_a_queue_that_is_made() -> None:
    """As a queue is bound that is missing; not where missing queues are not made."""
    assert message(make(), exchange="new", routing_key="new").queue == "new"
    strict = make(task_queues=QUEUES, task_create_missing_queues=False)
    with pytest.raises(UnsupportedFeature, match="no queue of task_queues is bound"):
        message(strict, exchange="new", routing_key="new")


def test_a_message_that_two_queues_would_get_is_refused() -> None:
    """A row has one."""
    queues = [Queue(name, Exchange("t", type="topic"), routing_key="a.#") for name in ("one", "two")]
    with pytest.raises(UnsupportedFeature, match="'one', 'two'"):
        message(make(task_queues=queues), routing_key="a.b")


@pytest.mark.parametrize(
    "queues",
    [
        [Broadcast("all")],
        [Queue("all", Exchange("all", type="fanout"))],
        {"all": {"exchange": "all", "exchange_type": "fanout"}},
    ],
)
def test_queues_that_several_workers_would_read_are_refused_at_configuration(queues: Any) -> None:
    """Row 9.6."""
    with pytest.raises(UnsupportedFeature, match="task_queues"):
        make(task_queues=queues)


def test_a_missing_queue_of_a_route_can_be_forbidden() -> None:
    """Row 9.4: also a KeyError."""
    app = make(task_routes={"*": "typo"}, task_queues={"mail": {}}, task_create_missing_queues=False)
    with pytest.raises(QueueNotFound) as caught:
        message(app)
    assert isinstance(caught.value, KeyError)


def test_queues_are_listed_by_name() -> None:
    """Rows 9.3 and 1.25: kombu's objects and options by name."""
    app = make(task_queues={"a": {"exchange": "e", "exchange_type": "topic", "routing_key": "a.#"}})
    assert list(app.amqp.queues) == ["a"]
    assert app.amqp.queues.format() == ".> a                exchange=e(topic) key=a.#"
    assert binds(app.amqp.queues["a"], "e", "a.b.c")
    app.select_queues(["a"])
    assert list(app.amqp.queues.consume_from) == ["a"]
