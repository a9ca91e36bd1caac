"""What the documents say exists: commands, options, names, links, and the programs in shell blocks."""

from __future__ import annotations

import dataclasses
import re
from importlib import import_module

import click
import pytest

from river_compat.celery.app import setting_names
from river_core import WorkerConfig
from tests.docs.command_tree import commands, invocations, problem
from tests.docs.documents import ROOT, Document, documents, name_of

CLI_REFERENCE = Document(ROOT / "docs/reference/cli.md")
PROGRAMS = {
    ".venv/bin/lint-imports",
    ".venv/bin/mypy",
    ".venv/bin/pip",
    ".venv/bin/pyright",
    ".venv/bin/pytest",
    ".venv/bin/python",
    ".venv/bin/river-compat",
    ".venv/bin/ruff",
    "apt",
    "cat",
    "cd",
    "git",
    "kill",
    "pip",
    "psql",
    "python",
    "python3",
    "river-compat",
    "sqlite3",
    "uv",
}

every_document = pytest.mark.parametrize("document", documents(), ids=name_of)


@every_document
def test_commands_and_options_exist(document: Document) -> None:
    """Every call of `river-compat`, in a shell block or inline, names real commands and options."""
    lines = [*document.shell_lines(), *(span for span in document.spans() if "river" in span)]
    wrong = [f"{line}: {found}" for line in lines for call in invocations(line) if (found := problem(call))]
    assert not wrong


@every_document
def test_shell_blocks_start_known_programs(document: Document) -> None:
    """A shell block starts only programs that the reader has."""
    first_words = [
        next((word for word in part.split() if "=" not in word), "")
        for line in document.shell_lines()
        for part in line.replace("|", "&&").split("&&")
    ]
    assert set(first_words) <= PROGRAMS


@every_document
def test_names_resolve(document: Document) -> None:
    """Every dotted name of our packages can be imported."""
    assert [name for name in document.names() if not _resolves(name)] == []


def _resolves(dotted: str) -> bool:
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[cut:]:
            if not hasattr(value, attribute):
                return False
            value = getattr(value, attribute)
        return True
    return False


@every_document
def test_imports_that_a_diff_adds_can_be_made(document: Document) -> None:
    """A reader who changes the lines as shown has a module that loads."""
    added = [
        line[1:].strip()
        for block in document.blocks({"diff"})
        for line in block.splitlines()
        if line.startswith("+")
    ]
    for line in added:
        if line.startswith("from river_"):
            exec(line, {})  # noqa: S102 - the line is the document's


@every_document
def test_links_lead_somewhere(document: Document) -> None:
    """Every link inside the repository leads to a file and, where it names one, to a heading."""
    broken = []
    for link in document.links():
        path, _, anchor = link.partition("#")
        target = (document.path.parent / path).resolve() if path else document.path
        if not target.exists() or (anchor and anchor not in Document(target).anchors()):
            broken.append(link)
    assert broken == []


@every_document
def test_a_document_starts_with_its_title(document: Document) -> None:
    """A document has one title, on its first line."""
    assert document.text.startswith("# ")
    assert document.prose.count("\n# ") == 0


def words(value: object) -> str:
    """The words of a command as a test id."""
    return " ".join(value) if isinstance(value, tuple) else ""


@pytest.mark.parametrize(("path", "command"), list(commands()), ids=words)
def test_every_command_is_documented(path: tuple[str, ...], command: click.Command) -> None:
    """The reference names each command, and in its section each option that `--help` shows."""
    heading = " ".join(("river-compat", *path))
    assert heading in CLI_REFERENCE.text
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            assert max(parameter.opts, key=len) in CLI_REFERENCE.text, f"{heading} {parameter.opts}"


def test_settings_that_nothing_uses_yet_are_listed_as_such() -> None:
    """The list is the one that the worker's notice is made from."""
    text = Document(ROOT / "docs/reference/settings.md").text
    listed = text.partition("nothing uses them yet")[2].partition("## Refused")[0]
    assert set(re.findall(r"`(\w+)`", listed)) == setting_names.NOT_USED_YET


def test_every_setting_is_documented() -> None:
    """The reference names each setting that is known, refused ones included, or what its name starts with."""
    text = Document(ROOT / "docs/reference/settings.md").text
    starts = tuple(re.findall(r"`([a-z0-9]+(?:_[a-z0-9]+)*_)`", text))
    unnamed = [name for name in sorted(setting_names.KNOWN) if f"`{name}`" not in text]
    assert [name for name in unnamed if not name.startswith(starts)] == []


def test_every_option_of_a_worker_is_documented() -> None:
    """The reference of WorkerConfig has each of its fields, and no other in its tables."""
    text = Document(ROOT / "docs/reference/worker-config.md").text
    fields = {field.name for field in dataclasses.fields(WorkerConfig)}
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) | {"clock", "parity", "internals"} == fields
