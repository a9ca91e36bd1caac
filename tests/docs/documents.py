"""The documents of the repository and what can be checked in them, read out of their Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PLACES = ("*.md", "docs/**/*.md", "migration_guides/**/*.md", "examples/**/*.md")
_FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_NAME = re.compile(r"(?<![\w./-])(?:river_core|river_compat)(?:\.[A-Za-z_]\w*)+(?!/)")
SHELL = {"shell", "sh", "bash", "console"}


@dataclass(frozen=True)
class Document:
    """One Markdown file."""

    path: Path

    @cached_property
    def text(self) -> str:
        """The whole file."""
        return self.path.read_text("utf-8")

    @cached_property
    def prose(self) -> str:
        """The file without its fenced blocks."""
        return _FENCE.sub("", self.text)

    def blocks(self, languages: set[str]) -> Iterator[str]:
        """The fenced blocks in one of the languages."""
        return (body for _, language, body in _FENCE.findall(self.text) if language in languages)

    def shell_lines(self) -> Iterator[str]:
        """Every command in shell blocks, continued lines joined, prompts and comments removed."""
        for block in self.blocks(SHELL):
            for line in block.replace("\\\n", " ").splitlines():
                command = line.strip().removeprefix("$ ")
                if command and not command.startswith("#"):
                    yield command

    def spans(self) -> Iterator[str]:
        """Every inline code span."""
        return iter(_SPAN.findall(self.prose))

    def names(self) -> set[str]:
        """Every dotted name of our packages, in prose and blocks."""
        return set(_NAME.findall(self.text))

    def links(self) -> Iterator[str]:
        """Every target of a link that leads to a file or heading of this repository."""
        return (target for target in _LINK.findall(self.prose) if "://" not in target)

    def anchors(self) -> set[str]:
        """The anchors that the headings have on the usual renderers."""
        return {_anchor(heading) for heading in _HEADING.findall(self.prose)}


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def documents() -> list[Document]:
    """Every document, in order of its path."""
    paths = {path for place in _PLACES for path in ROOT.glob(place)}
    return [Document(path) for path in sorted(paths)]


def name_of(document: Document) -> str:
    """A short name for test ids."""
    return document.path.relative_to(ROOT).as_posix()
