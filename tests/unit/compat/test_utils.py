"""The helpers of `celery.utils`, held against Celery's own."""

from __future__ import annotations

import importlib
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from celery.utils import text as their_text
from celery.utils.saferepr import saferepr as their_saferepr
from celery.utils.time import ffwd as their_ffwd
from celery.utils.time import remaining as their_remaining

from river_compat.celery.utils import text
from river_compat.celery.utils.functional import firstmethod, head_from_fun, mlazy, padlist
from river_compat.celery.utils.imports import NotAPackage, find_module, qualname
from river_compat.celery.utils.nodenames import default_nodename, host_format, nodesplit
from river_compat.celery.utils.saferepr import saferepr
from river_compat.celery.utils.serialization import strtobool
from river_compat.celery.utils.threads import LocalStack
from river_compat.celery.utils.time import ffwd, humanize_seconds, make_aware, remaining, weekday

NAMES = {
    "celery.utils": ["uuid", "gen_unique_id", "cached_property", "chunks", "gen_task_name"],
    "celery.utils.collections": ["AttributeDict", "DictAttribute", "ConfigurationView", "LimitedSet"],
    "celery.utils.functional": ["maybe_list", "chunks", "noop", "regen", "first", "uniq", "padlist"],
    "celery.utils.imports": ["symbol_by_name", "qualname", "instantiate", "import_from_cwd"],
    "celery.utils.iso8601": ["parse_iso8601"],
    "celery.utils.nodenames": ["gethostname", "nodename", "nodesplit", "default_nodename"],
    "celery.utils.objects": ["Bunch", "FallbackContext", "getitem_property", "mro_lookup"],
    "celery.utils.saferepr": ["saferepr"],
    "celery.utils.serialization": ["strtobool", "pickle", "get_pickleable_exception"],
    "celery.utils.text": ["truncate", "indent", "abbr", "pluralize", "simple_format"],
    "celery.utils.threads": ["LocalStack", "Local", "bgThread"],
    "celery.utils.time": ["maybe_timedelta", "timezone", "rate", "remaining", "is_naive", "localize"],
}


@pytest.mark.parametrize("module", NAMES)
def test_names_that_applications_import_exist_in_both(module: str) -> None:
    """Row 22.5."""
    theirs = importlib.import_module(module)
    ours = importlib.import_module(f"river_compat.{module}")
    for name in NAMES[module]:
        assert hasattr(theirs, name), name
        assert hasattr(ours, name), name


@pytest.mark.parametrize(
    "value", [{"a": [1, {"b": (2,)}]}, [[[[5]]]], ("x" * 50, 2), {"k": {1, 2}}, [b"abc", None, 1.5], {}]
)
@pytest.mark.parametrize("maxlen", [None, 5, 20, 40])
def test_saferepr_is_celerys(value: object, maxlen: int | None) -> None:
    assert saferepr(value, maxlen) == their_saferepr(value, maxlen)


@pytest.mark.parametrize("name", ["feeds.tasks.refresh", "a.b", "plain"])
@pytest.mark.parametrize("limit", [10, 14, 40])
def test_a_tasks_name_is_shortened_as_celery_does(name: str, limit: int) -> None:
    assert text.abbrtask(name, limit) == their_text.abbrtask(name, limit)


STEPS = [
    {"day": 31, "month": 2},
    {"weekday": 0, "hour": 3},
    {"weeks": 2, "minute": 5},
    {"year": 2027, "month": 3, "day": 28, "hour": 2, "minute": 30},
]


@pytest.mark.parametrize("fields", STEPS)
def test_a_step_on_the_clock_is_celerys(fields: dict[str, int]) -> None:
    start = datetime(2026, 10, 24, 10, 0, tzinfo=ZoneInfo("Europe/Berlin"))
    now = datetime(2026, 10, 26, 9, 0, tzinfo=ZoneInfo("Europe/Berlin"))
    assert start + ffwd(**fields) == start + their_ffwd(**fields)
    assert remaining(start, ffwd(**fields), now) == their_remaining(start, their_ffwd(**fields), now)


def test_a_relative_end_is_cut_to_its_unit() -> None:
    start = datetime(2026, 5, 4, 10, 11, 12, tzinfo=UTC)
    for span in (timedelta(days=1), timedelta(hours=2), timedelta(minutes=3), timedelta(seconds=4)):
        assert remaining(start, span, start, relative=True) == their_remaining(
            start, span, start, relative=True
        )


def test_a_skipped_time_is_moved_on() -> None:
    made = make_aware(datetime(2026, 3, 29, 2, 30), ZoneInfo("Europe/Berlin"))  # noqa: DTZ001
    assert made.isoformat() == "2026-03-29T03:30:00+02:00"


def test_small_functions() -> None:
    assert humanize_seconds(90, prefix="in ") == "in 1.50 minutes"
    assert weekday("Sunday") == 0
    assert padlist([1], 3) == [1, None, None]
    assert strtobool("Off") is False
    with pytest.raises(TypeError, match="perhaps"):
        strtobool("perhaps")
    assert qualname(datetime) == "datetime.datetime"
    calls: list[int] = []
    value = mlazy(lambda: calls.append(1) or 7)
    assert (value(), value(), calls) == (7, 7, [1])
    assert firstmethod("get")([{"a": None}, {"a": 5}], "a") == 5


def test_a_head_takes_what_its_function_takes() -> None:
    def add(x: int, y: int = 2) -> int:
        return x + y

    head_from_fun(add)(1)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        head_from_fun(add)()


def test_names_of_workers() -> None:
    assert nodesplit("w@host") == ["w", "host"]
    assert default_nodename("w@host") == "w@host"
    assert host_format("%n@%d", "web.example.org", "w") == "w@example.org"


def test_a_module_without_submodules_is_no_package() -> None:
    with pytest.raises(NotAPackage, match="textwrap"):
        find_module("textwrap.sub")


def test_every_thread_has_its_own_stack() -> None:
    import threading

    stack: LocalStack[int] = LocalStack()
    stack.push(1)
    seen: list[int | None] = []
    thread = threading.Thread(target=lambda: seen.append(stack.top))
    thread.start()
    thread.join()
    assert (stack.top, seen) == (1, [None])
