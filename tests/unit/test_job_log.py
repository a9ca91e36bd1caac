"""The writer behind `job.logger` is bounded and clean; whole entries are dropped, oldest first."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from river_core.encoding import encode_json
from river_core.errors import ConfigurationError
from river_core.joblog import LogWriter, PersistedLogs, newest


def test_text_is_cut_at_a_whole_character() -> None:
    """Checklist 120. The cap counts bytes of UTF-8; half a character is not kept."""
    writer = LogWriter(5)
    writer.write("aé")
    writer.write("éé")
    assert writer.end() == "aéé"
    writer = LogWriter(4)
    writer.write("aéé")
    assert (writer.end(), writer.truncated) == ("aé", True)


def test_nothing_follows_what_was_cut() -> None:
    """A short line does not slip in behind a long one that did not fit."""
    writer = LogWriter(4)
    writer.write("aéé")
    writer.write("b")
    assert writer.end() == "aé"


def test_what_cannot_be_stored_is_left_out() -> None:
    """Checklist 120. No NUL and no half of a surrogate pair gets through."""
    writer = LogWriter(100)
    writer.write("a\x00b\ud800c")
    assert writer.end() == "abc"


def test_a_write_after_the_end_is_ignored() -> None:
    """A thread that outlives its job does no harm."""
    writer = LogWriter(100)
    writer.write("in time\n")
    text = writer.end()
    writer.write("too late\n")
    assert (text, writer.end()) == ("in time\n", "in time\n")


def test_threads_share_a_writer() -> None:
    """Each line arrives whole."""
    writer = LogWriter(1_000_000)
    threads = [
        threading.Thread(target=lambda name=name: [writer.write(f"{name}\n") for _ in range(200)])
        for name in ("one", "two", "three")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = writer.end().splitlines()
    assert sorted(lines) == ["one"] * 200 + ["three"] * 200 + ["two"] * 200


entries = st.fixed_dictionaries({"attempt": st.integers(1, 99), "log": st.text(max_size=20)})


@given(st.lists(entries, max_size=8), entries, st.integers(1, 300))
def test_the_newest_entries_are_kept(older: list[Any], entry: dict[str, Any], limit: int) -> None:
    """Checklist 120. The new entry always stays; before it the longest run of old ones that fits."""
    kept = newest(older, entry, limit)
    assert kept == [*older[len(older) - len(kept) + 1 :], entry]
    assert len(kept) == 1 or len(encode_json(kept).encode()) <= limit
    if len(kept) <= len(older):
        one_more = [older[len(older) - len(kept)], *kept]
        assert len(encode_json(one_more).encode()) > limit


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "1"])
@pytest.mark.parametrize("name", ["max_size_bytes", "max_total_bytes"])
def test_limits_are_positive_whole_numbers(name: str, value: Any) -> None:
    """Anything else is refused by name."""
    with pytest.raises(ConfigurationError, match=name):
        PersistedLogs(**{name: value})


def test_the_total_has_a_hard_cap() -> None:
    """64 MiB pass, one byte more does not."""
    PersistedLogs(max_total_bytes=67_108_864)
    with pytest.raises(ConfigurationError, match="67108864"):
        PersistedLogs(max_total_bytes=67_108_865)
