"""How long a call waits for a database that does not answer."""

from __future__ import annotations

from typing import Any

import pytest
from kombu.exceptions import OperationalError

from river_compat.celery import publishing
from river_compat.celery.publishing import PublishPolicy, publish
from river_core import errors
from river_core.insert import InsertParams

ROW = InsertParams(kind="python_task", encoded_args="{}")
POLICY = PublishPolicy(max_retries=3, start=0, step=0.2, maximum=1)


@pytest.mark.parametrize(("seconds", "tries"), [(0.01, 4), (4.0, 1), (2.0, 2)])
def test_no_try_is_begun_that_would_end_after_five_seconds(
    monkeypatch: pytest.MonkeyPatch, seconds: float, tries: int
) -> None:
    """O06: a refused connection is tried four times; one that hangs for four seconds only once."""
    clock = [0.0]
    calls: list[int] = []

    def hang(*_: Any) -> None:
        calls.append(1)
        clock[0] += seconds
        raise errors.OperationalError("no answer")

    monkeypatch.setattr(publishing, "_try", hang)
    monkeypatch.setattr(publishing.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(publishing.time, "sleep", lambda pause: clock.__setitem__(0, clock[0] + pause))
    with pytest.raises(OperationalError, match="no answer"):
        publish(None, ROW, lambda: POLICY, "own", None, borrowed=False)  # type: ignore[arg-type]  # no runtime is reached
    assert len(calls) == tries
    assert clock[0] <= 5.0
