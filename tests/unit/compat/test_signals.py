"""`Signal` and the signals of `celery.signals`."""

from __future__ import annotations

import gc
import logging
from typing import Any

import pytest

from river_compat.celery import Celery, signals
from river_compat.celery.utils.dispatch import Signal


def told(**kwargs: Any) -> Any:
    """A receiver."""
    return kwargs["value"]


def test_receivers_are_called_in_order_with_the_signal_and_its_sender() -> None:
    """One for every sender, one for its own."""
    signal, seen = Signal(["value"]), []

    def first(**kwargs: Any) -> None:
        seen.append(kwargs)

    signal.connect(first)
    signal.connect(told, sender="mine")
    assert signal.send("other", value=1) == [(first, None)]
    assert signal.send("mine", value=2) == [(first, None), (told, 2)]
    assert seen[0] == {"signal": signal, "sender": "other", "value": 1}
    assert [signal.disconnect(told, "mine"), signal.disconnect(told, "mine")] == [True, False]
    assert signal.has_listeners("mine")


def test_a_receiver_that_raises_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    """What it raised is its response."""
    signal = Signal()

    @signal.connect
    def fails(**kwargs: Any) -> None:
        raise KeyError("no")

    signal.connect(told)
    with caplog.at_level(logging.ERROR):
        [(_, error), (_, value)] = signal.send(None, value=3)
    assert isinstance(error, KeyError)
    assert value == 3
    assert "fails" in caplog.text


def test_a_weak_receiver_goes_with_its_object() -> None:
    """A method with its instance, a strong one stays."""

    class Listener:
        def hear(self, **kwargs: Any) -> str:
            return "heard"

    signal, weak, strong = Signal(), Listener(), Listener()
    signal.connect(weak.hear)
    signal.connect(strong.hear, weak=False)
    assert [answer for _, answer in signal.send(None)] == ["heard", "heard"]
    del weak, strong
    gc.collect()
    assert [answer for _, answer in signal.send(None)] == ["heard"]
    assert len(signal.receivers) == 1


def test_a_receiver_must_take_keyword_arguments() -> None:
    """Otherwise a signal with more arguments would break it."""
    with pytest.raises(ValueError, match="keyword arguments"):
        Signal().connect(lambda sender: sender)


def test_of_one_dispatch_uid_the_first_receiver_stays() -> None:
    """It is disconnected by it."""
    signal = Signal()
    signal.connect(told, dispatch_uid="x")
    signal.connect(lambda **kwargs: None, dispatch_uid="x")
    assert signal.send(None, value=4) == [(told, 4)]
    assert signal.disconnect(dispatch_uid="x")
    assert not signal.has_listeners()


def test_a_declared_task_is_a_sender_before_it_is_made() -> None:
    """Connecting does not finalize the application."""
    signal = Signal()
    with Celery("signals", set_as_current=False) as app:

        @app.task(shared=False)
        def work() -> None:
            """Do nothing."""

        signal.connect(told, sender=work)
        assert not app.finalized
        assert signal.receivers == []
        task = app.tasks[work.name]
        assert signal.send(task, value=5) == [(told, 5)]
        assert signal.send(work, value=6) == [(told, 6)]


def test_every_signal_says_its_name_and_arguments() -> None:
    """As `repr` shows them."""
    for name in signals.__all__:
        assert getattr(signals, name).name == name
    assert signals.task_postrun.providing_args == {"task_id", "task", "args", "kwargs", "retval", "state"}
