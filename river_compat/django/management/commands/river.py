"""`manage.py river COMMAND`: the command `river-compat` for the application of this project."""

from __future__ import annotations

import sys
from argparse import REMAINDER, ArgumentParser
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from river_compat.cli.main import main

OF_DJANGO = ("--settings", "--pythonpath")
APPLICATION = ("-A", "--app")


class Command(BaseCommand):
    """Runs a command of `river-compat`. The application is that of the project's module `celery`."""

    help = "Run a command of river-compat, such as: river worker -l INFO, river migrate up"
    requires_system_checks: Sequence[str] = ()

    def run_from_argv(self, argv: list[str]) -> None:
        """Run and end the process with the command's exit code."""
        sys.exit(main(with_application(_without_djangos(argv[2:]))))

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the words of the command, for `call_command`."""
        parser.add_argument("words", nargs=REMAINDER)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run; raises CommandError where the command fails."""
        words = [*args, *options.get("words", ())]
        code = main(with_application(words))
        if code:
            raise CommandError(f"river {' '.join(words)} ended with {code}", returncode=code)


def with_application(words: Sequence[str]) -> list[str]:
    """Return the words with the project's application named, unless they name one or there is none."""
    if any(word.startswith(APPLICATION) for word in words) or (name := project()) is None:
        return list(words)
    return ["-A", name, *words]


def project() -> str | None:
    """Return the package that the settings are in and that has a module `celery`, else None."""
    package: str = settings.SETTINGS_MODULE.rpartition(".")[0]
    while package:
        if find_spec(f"{package}.celery") is not None:
            return package
        package = package.rpartition(".")[0]
    return None


def _without_djangos(words: Sequence[str]) -> list[str]:
    """Drop options of manage.py itself, which Django has obeyed by now."""
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in OF_DJANGO:
            skip = True
        elif not word.startswith(tuple(f"{option}=" for option in OF_DJANGO)):
            kept.append(word)
    return kept
