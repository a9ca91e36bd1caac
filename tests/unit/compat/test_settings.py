"""`app.conf`: sources, spellings, precedence, refusals and warnings."""

from __future__ import annotations

import logging
import sys
import types
from typing import Any

import celery.app.defaults
import pytest

from river_compat.celery import Celery
from river_compat.celery.app import setting_names as names
from river_compat.celery.app.database import database_url
from river_compat.celery.exceptions import CeleryWarning, ImproperlyConfigured, UnsupportedFeature


def make(**settings: Any) -> Celery:
    """An application that no other test sees."""
    return Celery("settings", set_as_current=False, **settings)


THEIR_NAMES = sorted(name for name in names.KNOWN if name in celery.app.defaults.DEFAULTS)


@pytest.mark.parametrize("name", THEIR_NAMES)
def test_old_names_are_celerys(name: str) -> None:
    """Each setting that we know has the old name that Celery gives it."""
    assert names.old_name(name) == celery.app.defaults._TO_OLD_KEY[name]


OUR_OWN_DEFAULTS = {"beat_scheduler", "worker_consumer", "worker_pool"}


@pytest.mark.parametrize("name", sorted({*names.DEFAULTS} & {*THEIR_NAMES} - OUR_OWN_DEFAULTS))
def test_defaults_are_celerys(name: str) -> None:
    """Except where the design decided otherwise."""
    assert names.DEFAULTS[name] == celery.app.defaults.DEFAULTS[name]


def test_keywords_of_the_constructor_are_settings() -> None:
    """As are broker, backend and include."""
    app = make(broker="sqlite:///x.db", include="proj.tasks", task_default_queue="mail")
    assert (app.conf.broker_url, app.conf.include, app.conf["task_default_queue"]) == (
        "sqlite:///x.db",
        ("proj.tasks",),
        "mail",
    )


def test_a_value_set_before_the_source_survives_it() -> None:
    """What the code says counts more than what it points at."""
    app = make()
    app.conf.task_default_queue = "mine"
    app.config_from_object({"task_default_queue": "theirs", "task_track_started": True})
    assert (app.conf.task_default_queue, app.conf.task_track_started) == ("mine", True)


def test_update_and_old_names_reach_the_same_setting() -> None:
    """`conf.CELERY_ALWAYS_EAGER` is `conf.task_always_eager`."""
    app = make()
    app.conf.update(CELERY_ALWAYS_EAGER=True)
    assert app.conf.task_always_eager is True
    assert app.conf["CELERY_ALWAYS_EAGER"] is True


def test_added_defaults_lose_to_everything_else() -> None:
    """They are asked for at first use only."""
    app = make()
    app.add_defaults(lambda: {"task_default_queue": "d", "timezone": "Asia/Tokyo"})
    app.config_from_object({"task_default_queue": "source"})
    assert (app.conf.task_default_queue, app.conf.timezone) == ("source", "Asia/Tokyo")


def test_a_missing_module_fails_at_first_use_and_not_when_named() -> None:
    """Unless it may be missing."""
    app = make()
    app.config_from_object("no_such_configuration")
    with pytest.raises(ImportError):
        _ = app.conf.task_default_queue
    app.config_from_object("no_such_configuration", silent=True)
    assert app.conf.task_default_queue == "celery"


def test_a_module_is_read_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its functions and imports are no settings; names of the application's own can be read, too."""
    module = types.ModuleType("some_configuration")
    vars(module).update(task_default_queue="named", os=sys, helper=lambda: None, OTHER=1)
    monkeypatch.setitem(sys.modules, "some_configuration", module)
    app = make()
    app.config_from_object("some_configuration")
    assert app.conf.task_default_queue == "named"
    assert app.conf.OTHER == 1
    assert "os" not in app.conf
    assert "helper" not in app.conf


class Namespaced:
    """What a Django settings module looks like."""

    CELERY_TASK_ALWAYS_EAGER = True
    TASK_TRACK_STARTED = True
    CELERY_task_default_queue = "lower"


def test_with_a_namespace_only_its_names_count() -> None:
    """Upper case, new names."""
    app = make()
    app.config_from_object(Namespaced, namespace="CELERY")
    assert (app.conf.task_always_eager, app.conf.task_track_started) == (True, False)
    assert app.conf.task_default_queue == "celery"


def test_old_names_count_under_a_namespace_where_the_new_one_is_not_set() -> None:
    """As with Celery: projects have `CELERY_DEFAULT_QUEUE` and `CELERYD_CONCURRENCY` beside new names."""
    app = make()
    old = {
        "CELERY_DEFAULT_QUEUE": "low",
        "CELERY_IGNORE_RESULT": True,
        "CELERYD_CONCURRENCY": 3,
        "CELERY_TASK_RESULT_EXPIRES": 18,
        "S3_BUCKET": "of the application",
    }
    app.config_from_object({"CELERY_RESULT_EXPIRES": 17, **old}, namespace="CELERY")
    conf = app.conf
    assert (conf.task_default_queue, conf.task_ignore_result, conf.worker_concurrency) == ("low", True, 3)
    assert conf.result_expires == 17
    assert conf.s3_bucket is None


@pytest.mark.parametrize(
    ("key", "advice"),
    [
        ("CELERY_TASK_ALWAYS_EAGRE", "CELERY_TASK_ALWAYS_EAGER"),
        ("CELERY_TIMEZON", "CELERY_TIMEZONE"),
    ],
)
def test_a_misspelled_name_under_the_namespace_is_named_with_the_nearest(key: str, advice: str) -> None:
    """Celery would ignore it in silence."""
    app = make()
    app.config_from_object({key: True}, namespace="CELERY")
    with pytest.warns(CeleryWarning, match=advice.removeprefix("CELERY_").lower() + "|" + advice):
        app.conf.load()


def test_an_unknown_setting_warns_once() -> None:
    """It is kept: applications store things of their own."""
    app = make()
    with pytest.warns(CeleryWarning, match="task_always_eager"):
        app.conf.task_alway_eager = True
    app.conf.task_alway_eager = False
    assert app.conf.task_alway_eager is False


def test_mixed_spellings_are_refused_with_every_rename() -> None:
    """The smaller kind is to be renamed."""
    app = make()
    app.config_from_object(
        {"task_default_queue": "a", "task_serializer": "json", "CELERY_ALWAYS_EAGER": True}
    )
    with pytest.raises(ImproperlyConfigured, match="CELERY_ALWAYS_EAGER -> task_always_eager"):
        app.conf.load()


def test_both_spellings_of_one_setting_are_no_mixture() -> None:
    """The new one counts."""
    app = make()
    app.config_from_object({"task_always_eager": True, "CELERY_ALWAYS_EAGER": False})
    assert app.conf.task_always_eager is True


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("task_protocol", 3),
        ("worker_direct", True),
        ("task_queues", {"a": {"exchange_type": "fanout"}}),
        ("security_key", "k"),
        ("task_serializer", "auth"),
        ("broker_transport", "redis"),
        ("river_enqueue_in", "sometimes"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(name: str, value: Any) -> None:
    """At configuration time, with the way out."""
    with pytest.raises(UnsupportedFeature, match=name):
        make(**{name: value})


@pytest.mark.parametrize("name", sorted(names.REFUSED))
def test_refused_settings_may_have_celerys_default(name: str) -> None:
    """Configurations often repeat the defaults."""
    default = celery.app.defaults.DEFAULTS.get(
        name,
        {"river_queue_names": "lenient", "river_enqueue_in": "own", "river_rate_limit_scope": "global"}.get(
            name
        ),
    )
    make(**{name: default})


def test_settings_without_effect_are_told_in_order_and_log_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Only where they differ from the default, from every source; a producer is not told."""
    with caplog.at_level(logging.DEBUG):
        app = make(worker_prefetch_multiplier=4, task_track_started=True)
        assert app.conf.without_effect() == []
        app.config_from_object({"worker_eta_task_limit": 5, "redis_max_connections": 3})
        app.conf.result_extended = True
        app.conf.update(broker_transport_options={"visibility_timeout": 1}, beat_schedule={"a": {}})
        assert app.conf.without_effect() == [
            "broker_transport_options",
            "redis_max_connections",
            "result_extended",
            "worker_eta_task_limit",
        ]
    assert not caplog.records


def test_secrets_are_hidden() -> None:
    """In tables and texts."""
    app = make(broker="postgresql://me:secret@host/db")
    assert "secret" not in app.conf.humanize()
    assert "secret" not in repr(app.conf)


DATABASES = [
    ({}, {}, "sqlite:///river.sqlite3"),
    ({"broker_url": "postgresql://a/b"}, {"DATABASE_URL": "sqlite:///c"}, "postgresql://a/b"),
    ({"river_database_url": "sqlite:///r"}, {}, "sqlite:///r"),
    ({"broker_url": "postgresql+psycopg://a/b"}, {}, "postgresql://a/b"),
    ({}, {"DATABASE_URL": "postgresql://d/e"}, "postgresql://d/e"),
    ({}, {"DATABASE_URL": "postgresql://d/e", "RIVER_DATABASE_URL": "sqlite:///f"}, "sqlite:///f"),
    ({"broker_url": "sqlite:///x"}, {"CELERY_BROKER_URL": "sqlite:///env"}, "sqlite:///env"),
]


@pytest.mark.parametrize(("settings", "environment", "url"), DATABASES)
def test_the_database_is_found_in_order(
    settings: dict[str, str], environment: dict[str, str], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings before the environment, River's names before others."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert database_url(make(**settings).conf) == url


@pytest.mark.parametrize("broker", ["redis://:secret@host:6379/0", "amqp://guest@host//", "sqs://"])
def test_an_old_broker_is_refused_at_first_use_where_nothing_names_a_database(broker: str) -> None:
    """Not at construction, and without its password."""
    app = make(broker=broker)
    with pytest.raises(UnsupportedFeature, match="RIVER_DATABASE_URL") as caught:
        _ = app.runtime.driver
    assert "secret" not in str(caught.value)


def test_an_old_broker_beside_a_database_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment can move an application without a change of its settings."""
    monkeypatch.setenv("RIVER_DATABASE_URL", "sqlite:///moved.db")
    with pytest.warns(CeleryWarning, match="not used"):
        assert database_url(make(broker="redis://host").conf) == "sqlite:///moved.db"


@pytest.mark.parametrize("variable", ["CELERY_BROKER_READ_URL", "CELERY_BROKER_WRITE_URL"])
def test_a_second_database_of_the_environment_is_refused_at_first_use(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 1.15. The same one is none, and so is the URL of a broker beside a database."""
    app = make(broker="sqlite:///one.db")
    for same in ("sqlite:///one.db", "redis://host"):
        monkeypatch.setenv(variable, same)
        assert app.conf[variable.removeprefix("CELERY_").lower()] == same
        app.runtime.driver.close()
    monkeypatch.setenv(variable, "postgresql://me:secret@two/db")
    with pytest.raises(UnsupportedFeature, match="one database") as caught:
        _ = make(broker="sqlite:///one.db").runtime.driver
    assert "secret" not in str(caught.value)


def test_a_foreign_result_backend_is_refused_or_warned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are in the rows."""
    with pytest.raises(UnsupportedFeature, match="delete the setting"):
        _ = make(backend="redis://host").runtime.driver
    app = make(broker="sqlite:///some.db", backend="redis://host")
    with pytest.warns(CeleryWarning, match="delete it"):
        app.runtime.driver.close()


def test_a_protocol_of_celery_3_is_warned_about_and_not_used() -> None:
    """Rows have one format; the same workflows run under either."""
    with pytest.warns(CeleryWarning, match="task_protocol=1 is not used") as caught:
        app = make(task_protocol=1)
    assert len(caught) == 1
    assert app.conf.task_protocol == 1


def test_a_namespace_asks_for_its_own_names_alone() -> None:
    """Django's settings raise at others, such as a secret key that is not set."""

    class Settings:
        CELERY_TASK_ALWAYS_EAGER = True

        @property
        def SECRET_KEY(self) -> str:  # noqa: N802 - Django's name
            raise LookupError("not set")

    app = make()
    app.config_from_object(Settings(), namespace="CELERY")
    assert app.conf.task_always_eager is True


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://user:p,a@ss@localhost:6379/0", "redis://user:********@localhost:6379/0"),
        (
            "sentinel://:one@h1:1;sentinel://:two@h2:2/0",
            "sentinel://:********@h1:1;sentinel://:********@h2:2/0",
        ),
    ],
)
def test_a_report_shows_no_password_of_a_result_store(url: str, shown: str) -> None:
    """Neither in its head nor in the list of settings; its first word is Celery's version."""
    app = make(broker_url="memory://", result_backend=url)
    report = app.bugreport()
    assert report.count(shown) == 2
    assert url not in report
    assert report.lstrip().startswith("software -> celery:5.7.0 river-compat:")
