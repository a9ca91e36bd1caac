"""`celery.utils.debug`."""

from __future__ import annotations

import io
import threading

import pytest

from river_compat.celery.utils import debug


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0B"), (1023, "1023B"), (1024, "1KB"), (3.5 * 2**20, "3.5MB"), (2**31, "2GB")]
)
def test_bytes_have_a_unit(count: float, text: str) -> None:
    """Row 22.5. The largest that fits."""
    assert debug.humanbytes(count) == text


def test_samples_are_printed_once() -> None:
    """What was remembered, thinned out, and what is there now."""
    debug.memdump(file=io.StringIO())
    for _ in range(20):
        assert debug.sample_mem() == debug._samples[-1]
    out = io.StringIO()
    debug.memdump(samples=5, file=out)
    lines = out.getvalue().splitlines()
    assert lines[0] == "- rss (sample):"
    assert len(lines) == 7
    assert lines[-1].startswith("- rss (end): ")
    again = io.StringIO()
    debug.memdump(file=again)
    assert len(again.getvalue().splitlines()) == 1


def test_the_stacks_of_all_threads_are_shown() -> None:
    """By the threads' names."""
    go_on = threading.Event()
    thread = threading.Thread(target=go_on.wait, name="waits-for-the-test")
    thread.start()
    text = debug.cry()
    go_on.set()
    thread.join()
    assert "waits-for-the-test" in text
    assert "test_the_stacks_of_all_threads_are_shown" in text
