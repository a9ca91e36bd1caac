"""`memory://`: a temporary SQLite file in place of the broker in memory that Celery's tests use.

Equal URLs of one process are one file; `memory://orders` is another one than `memory://`. The files are made
with River's tables at the first use and are deleted when the process ends.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from river_core import Migrator, open_driver

SCHEME = "memory"
_TEMPLATE = "template"

_lock = threading.Lock()
_folders: dict[int, Path] = {}


def is_scratch(url: Any) -> bool:
    """Whether a URL asks for a temporary database."""
    return isinstance(url, str) and url.partition("://")[0] == SCHEME and "://" in url


def scratch_url(url: str) -> str:
    """Return the URL of the file that stands for `url` in this process, with River's tables."""
    name = quote(url.partition("://")[2].strip("/") or "default", safe="")
    with _lock:
        path = _folder() / f"{name}.sqlite3"
        if not path.exists():
            shutil.copy(_template(), path)
    return _sqlite_url(path)


def _folder() -> Path:
    """Return the folder of this process. A child that was forked keeps to its parent's files."""
    if not _folders:
        folder = Path(tempfile.mkdtemp(prefix="river-memory-"))
        _folders[os.getpid()] = folder
        atexit.register(_remove)
    return next(iter(_folders.values()))


def _template() -> Path:
    path = _folder() / f"{_TEMPLATE}.sqlite3"
    if not path.exists():
        with closing(open_driver(_sqlite_url(path))) as driver:
            Migrator(driver).migrate_up()
    return path


def _remove() -> None:
    folder = _folders.get(os.getpid())
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def _sqlite_url(path: Path) -> str:
    return "sqlite:///" + quote(str(path.absolute()))
