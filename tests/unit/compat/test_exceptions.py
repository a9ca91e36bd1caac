"""`celery.exceptions`: every name with the bases of the installed Celery; rebuilding stored ones."""

from __future__ import annotations

import pickle
from typing import Any

import celery.exceptions as theirs
import celery.states
import pytest

from river_compat.celery import exceptions as ours
from river_compat.celery import limits, states
from river_compat.celery.utils.serialization import UnpickleableExceptionWrapper, get_pickleable_exception
from river_compat.results import RebuildError, exception_metadata, rebuild_exception
from river_core.errors import RiverError

NAMES = sorted(theirs.__all__)
CLASSES = [name for name in NAMES if isinstance(getattr(theirs, name), type)]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there(name: str) -> None:
    """An application imports any of them."""
    assert name in ours.__all__
    assert callable(getattr(ours, name))


@pytest.mark.parametrize("name", CLASSES)
def test_the_bases_are_the_same(name: str) -> None:
    """So `except` clauses catch the same; names stand for classes, since ours are not theirs."""
    shown = [[cls.__name__ for cls in getattr(module, name).__mro__] for module in (theirs, ours)]
    assert shown[0] == shown[1]


@pytest.mark.parametrize(
    "name",
    ["OperationalError", "SoftTimeLimitExceeded", "TimeLimitExceeded", "WorkerLostError", "Terminated"],
)
def test_classes_of_other_libraries_are_those(name: str) -> None:
    """kombu's and, where it is installed, billiard's."""
    assert getattr(ours, name) is getattr(theirs, name)


def test_stand_ins_have_the_bases_of_billiards() -> None:
    """They are used where billiard is not installed."""
    for name in ("SoftTimeLimitExceeded", "TimeLimitExceeded", "WorkerLostError", "Terminated"):
        assert getattr(limits, name).__mro__[1:] == getattr(theirs, name).__mro__[1:]


def test_states_are_the_same() -> None:
    """Names, sets and ranks."""
    for name in celery.states.__all__:
        value = getattr(celery.states, name)
        assert getattr(states, name) == value if not callable(value) else callable(getattr(states, name))
    every = [*celery.states.ALL_STATES, celery.states.REJECTED, "PROGRESS"]
    for left in every:
        assert celery.states.precedence(left) == states.precedence(left)
        for right in every:
            pair = (celery.states.state(left) > right, celery.states.state(left) <= right)
            assert pair == (states.state(left) > right, states.state(left) <= right)


def test_a_refusal_is_improper_configuration_and_an_error_of_river() -> None:
    """Commands report it as they report any other."""
    error = ours.unsupported("the pool 'gevent'", "use threads")
    assert isinstance(error, ours.ImproperlyConfigured)
    assert isinstance(error, RiverError)
    assert str(error) == "the pool 'gevent' is not supported by river_compat: use threads"


@pytest.mark.parametrize(
    "arguments",
    [
        {"exc": ValueError("x"), "when": 3},
        {"message": "later"},
        {"exc": "text", "when": 1.5},
        {"when": None},
    ],
)
def test_retry_reads_as_in_celery(arguments: dict[str, Any]) -> None:
    """Text and attributes, also after pickling."""
    mine, real = ours.Retry(**arguments), theirs.Retry(**arguments)
    assert str(mine) == str(real)
    again = pickle.loads(pickle.dumps(mine))  # noqa: S301 - our own bytes
    assert (again.message, again.when) == (real.message, real.when)


class CustomError(Exception):
    """An exception of a module that is loaded."""


class StrangeError(Exception):
    """An exception whose constructor takes other arguments than it keeps."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}{text}")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("boom", 3),
        KeyError("k"),
        CustomError(None, [1, {"a": 1.5}]),
        CustomError(1e22, "a\x00b", -0.0),
    ],
)
def test_a_stored_exception_comes_back_with_its_class_and_arguments(error: Exception) -> None:
    """Exactly, also where jsonb would change an argument."""
    again = rebuild_exception(exception_metadata(error), "made.up")
    assert type(again) is type(error)
    assert repr(again.args) == repr(error.args)


def test_arguments_that_are_no_json_become_their_repr() -> None:
    """The others stay what they are."""
    again = rebuild_exception(exception_metadata(ValueError({1}, 2)), "made.up")
    assert again.args == ("{1}", 2)


def test_a_class_that_is_not_loaded_is_made_up_by_name() -> None:
    """Nothing is imported for a stored exception."""
    data = {"exc_type": "NoSuchError", "exc_module": "no.such.module", "exc_message": ["x"]}
    again = rebuild_exception(data, "made.up")
    assert (type(again).__name__, type(again).__module__, again.args) == ("NoSuchError", "made.up", ("x",))


def test_a_name_that_is_no_exception_is_refused() -> None:
    """A stored result must not be able to call anything."""
    with pytest.raises(RebuildError, match=r"os\.system"):
        rebuild_exception({"exc_type": "system", "exc_module": "os", "exc_message": ["true"]}, "made.up")


def test_a_constructor_that_fails_gives_a_plain_exception() -> None:
    """With the class and the arguments in its text."""
    again = rebuild_exception(
        {"exc_type": "StrangeError", "exc_module": __name__, "exc_message": ["1x"]}, "made.up"
    )
    assert type(again) is Exception
    assert "StrangeError" in str(again)


def test_what_cannot_be_pickled_is_wrapped_as_in_celery() -> None:
    """The nearest base class that can, else a wrapper that keeps the text."""
    wrapped = get_pickleable_exception(StrangeError(1, "x"))
    assert isinstance(wrapped, UnpickleableExceptionWrapper)
    assert str(wrapped) == "StrangeError('1x')"

    class LocalError(ValueError):
        pass

    assert type(get_pickleable_exception(LocalError("x"))) is ValueError
