"""Every Python block of the documents runs, in order, in a directory with a fresh SQLite database."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

from river_compat.celery import Celery
from river_core import open_driver
from tests import django_settings
from tests.databases import migrate
from tests.docs.documents import ROOT, Document, documents, name_of

WITH_PYTHON = [document for document in documents() if list(document.blocks({"python"}))]


@pytest.fixture
def reader(document: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory of somebody who has run `river-compat migrate up`; an example's files lie in it."""
    for name in ("RIVER_DATABASE_URL", "DATABASE_URL", "CELERY_BROKER_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    if document.path.is_relative_to(ROOT / "examples"):
        for source in document.path.parent.glob("*.py"):
            shutil.copy(source, tmp_path)
    with closing(open_driver("sqlite:///river.sqlite3")) as driver:
        migrate(driver)
    modules = set(sys.modules)
    with django_settings.alias("default", "sqlite:///river.sqlite3"):
        yield tmp_path
    for name in set(sys.modules) - modules:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(tmp_path):
            close_applications(vars(sys.modules.pop(name)))


def close_applications(names: dict[str, object]) -> None:
    """Close the database connections of every application among the values."""
    for value in list(names.values()):
        if isinstance(value, Celery):
            value.close()


@pytest.mark.parametrize("document", WITH_PYTHON, ids=name_of)
def test_python_blocks_run(document: Document, reader: Path) -> None:
    """The blocks of a document do what they say, assertions included."""
    parsed = Sybil(parsers=[PythonCodeBlockParser(), SkipParser()]).parse(document.path)
    try:
        for example in parsed.examples():
            example.evaluate()
    finally:
        close_applications(parsed.namespace)
