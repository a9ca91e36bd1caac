"""What the check needs to be told about one application, read from a TOML file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Profile:
    """One application. Everything but `title`, `app` and `queues` has a default."""

    title: str
    app: str
    """Where its Celery application is, as `module:name`."""
    queues: list[str]
    """The queues that a worker of it is told to work."""
    folder: str = "."
    """What is put first on the import path, and the current directory, below the checkout."""
    modules: list[str] = field(default_factory=list)
    """Modules with tasks that the application imports by other ways than its list of task modules."""
    environment: dict[str, str] = field(default_factory=dict)
    """Variables, in which `{host}`, `{database}`, `{broker}` and more are filled in (`Side`)."""
    arguments: dict[str, Any] = field(default_factory=dict)
    """Values by the name of a parameter, for every task that has one of that name without a default."""
    tasks: dict[str, dict[str, Any]] = field(default_factory=dict)
    """All keyword arguments of single tasks, by the task's name, or by its last part."""
    stubs: dict[str, Any] = field(default_factory=dict)
    """What is replaced, `module:attribute`, by a function that returns this value."""
    seed: str = ""
    """A file beside the profile that is run once, after the migrations: the data of both sides."""
    differences: dict[str, str] = field(default_factory=dict)
    """Tasks whose outcomes differ, and the reason why they may."""
    volatile: list[str] = field(default_factory=list)
    """Regular expressions of text in results that differs from run to run."""


def read_profile(path: Path) -> Profile:
    """Read a profile; raises TypeError for a key that there is not."""
    return Profile(**tomllib.loads(path.read_text("utf-8")))
