"""The envelope: what is stored, and what is refused for which reason."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from river_compat import envelope
from river_compat.envelope import TaskCall
from river_compat.errors import CallNotRunnable, MalformedCall
from river_core.errors import ValidationError

storable = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\x00"), max_size=40)


@given(identity=storable, name=storable, body=storable, headers=storable)
def test_a_call_comes_back_as_it_was_stored(identity: str, name: str, body: str, headers: str) -> None:
    """Decoding what was encoded gives the same call."""
    call = TaskCall(identity, "celery", name, body=body, headers=headers, args_repr="()", kwargs_repr="{}")
    assert envelope.decode(envelope.encode(call), 1) == call


def test_the_keys_are_the_agreed_ones() -> None:
    """Each key costs index space at every state change, so none comes without a decision."""
    call = TaskCall(
        "1", "celery", "add", body="[]", headers="{}", args_repr="()", kwargs_repr="{}", group="g"
    )
    stored = json.loads(envelope.encode(call))
    assert list(stored) == ["version", "task"]
    assert stored["version"] == 1
    names = "id framework name content_type content_encoding body headers args_repr kwargs_repr group"
    assert list(stored["task"]) == names.split()


def test_representations_are_cut_and_storable() -> None:
    """What people see has at most 1,024 characters and none that Postgres refuses."""
    call = TaskCall("1", "celery", "add", body="[]", args_repr="x" * 5000, kwargs_repr="a\x00b\ud800")
    task = json.loads(envelope.encode(call))["task"]
    assert len(task["args_repr"]) == 1024
    assert task["kwargs_repr"] == "a\ufffdb\ufffd"


@pytest.mark.parametrize("identity", ["a\x00b", "\ud800", 7])
def test_an_id_that_cannot_be_stored_is_refused(identity: str) -> None:
    """Before anything is written."""
    with pytest.raises(ValidationError, match="task id"):
        envelope.encode(TaskCall(identity, "celery", "add", body="[]"))


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_an_unknown_version_waits_for_a_worker_that_knows_it(version: object) -> None:
    """A newer release may have written the row."""
    text = json.dumps({"version": version, "task": {"name": "add"}})
    with pytest.raises(CallNotRunnable, match="version"):
        envelope.decode(text, 1)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"version": 1}',
        '{"version": 1, "task": {}}',
        '{"version": 1, "task": {"name": "a", "body": 1}}',
        '{"version": 1, "task": {"name": "a", "args": {}}}',
        '{"version": 1, "task": {"name": "a", "kwargs": []}}',
    ],
)
def test_what_is_no_envelope_is_malformed(text: str) -> None:
    """No worker will ever run it, so it must not wait."""
    with pytest.raises(MalformedCall):
        envelope.decode(text, 1)


def test_another_language_may_give_plain_arguments() -> None:
    """Only version, name and arguments are needed; the id is the row's."""
    text = '{"version": 1, "task": {"name": "add", "framework": "celery", "args": [1], "kwargs": {"y": 2}}}'
    call = envelope.decode(text, 17)
    assert (call.id, call.body, call.plain_args, call.plain_kwargs) == ("17", None, [1], {"y": 2})


def test_plain_arguments_may_be_left_out() -> None:
    """They are empty then."""
    call = envelope.decode('{"version": 1, "task": {"name": "tick"}}', 17)
    assert (call.plain_args, call.plain_kwargs) == ([], {})
