"""Client ids have River's form, a nonce, and a marker that tells whether a lock is held."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest

from river_core.errors import ConfigurationError
from river_core.worker.identity import LOCKED, POLL_ONLY, client_id, marked_id

BOOT = datetime(2026, 11, 30, 15, 4, 5, 123456, tzinfo=UTC)
FORM = re.compile(r"[^.]{1,60}_\d{4}_\d\d_\d\dT\d\d_\d\d_\d\d_\d{6}_[0-9a-f]{8}_py[lp]")


@pytest.mark.parametrize("host", ["web1", "web1.example.com", "", "h" * 300])
@pytest.mark.parametrize("marker", [LOCKED, POLL_ONLY])
def test_default_ids_have_rivers_form_within_its_limit(host: str, marker: str) -> None:
    """Checklist 152. Dots of the host become underscores, 60 characters of it stay, and no id is over 100."""
    name = client_id(host, BOOT, marker)
    assert FORM.fullmatch(name), name
    assert name.endswith(marker)
    assert len(name) <= 100


def test_the_time_is_utc() -> None:
    """Whatever zone the clock speaks."""
    there = BOOT.astimezone(timezone(timedelta(hours=2)))
    assert client_id("web1", there, LOCKED).startswith("web1_2026_11_30T15_04_05_123456_")


def test_two_starts_never_share_an_id() -> None:
    """The nonce differs, for the user's own ids as well."""
    assert client_id("web1", BOOT, LOCKED) != client_id("web1", BOOT, LOCKED)
    assert marked_id("mine", LOCKED) != marked_id("mine", LOCKED)
    assert re.fullmatch(r"mine_[0-9a-f]{8}_pyp", marked_id("mine", POLL_ONLY))


def test_a_name_has_rivers_limit() -> None:
    """Checklist 152. 1 to 100 characters; what is added takes the place of the last ones."""
    for length in (87, 88, 100):
        assert len(marked_id("n" * length, LOCKED)) == 100
    for name in ("n" * 101, ""):
        with pytest.raises(ConfigurationError, match=f"not {len(name)}"):
            marked_id(name, LOCKED)
