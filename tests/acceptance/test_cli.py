"""The command line itself: quick help, errors in one line, exit codes, where the database comes from."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from river_compat.cli.place import place_of
from tests.acceptance.commands import Ran, run

HEAVY_MODULES = {"kombu", "psycopg", "sqlite3", "river_compat.celery", "rich"}
IMPORTED_AFTER_HELP = """
import sys
from river_compat.cli.main import main
main({arguments!r})
print(sorted(set(sys.modules) & {heavy!r}), file=sys.stderr)
"""


def test_help_imports_no_driver() -> None:
    """`--help` is quick: neither a driver nor an adapter is imported."""
    script = IMPORTED_AFTER_HELP.format(arguments=["--help"], heavy=HEAVY_MODULES)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "worker" in done.stdout


def test_module_and_script_are_the_same() -> None:
    """`python -m river_compat` prints what `river-compat` prints."""
    script = Path(sys.executable).with_name("river-compat")
    module = subprocess.run(
        [sys.executable, "-m", "river_compat", "--help"], capture_output=True, text=True, check=True
    )
    assert (
        module.stdout == subprocess.run([script, "--help"], capture_output=True, text=True, check=True).stdout
    )


def test_version_names_the_libraries() -> None:
    """`version --json` is for bug reports."""
    assert {"river-compat", "python", "sqlite", "psycopg"} <= json.loads(
        run("version", "--json").stdout
    ).keys()


@pytest.mark.parametrize(
    ("arguments", "code", "parts"),
    [
        (["wrk"], 2, ["'wrk'", "worker, beat, inspect, control"]),
        (["beat"], 2, ["which application?"]),
        (["-A", "proj", "beat", "--detach"], 2, ["--detach", "systemd"]),
        (["multi", "start", "w1"], 2, ["No such command 'multi'", "systemd"]),
        (["worker", "-A", "proj"], 2, ["-A stands before the command", "river-compat -A proj worker"]),
        (["migrate", "up", "-A", "proj"], 2, ["river-compat -A proj migrate up"]),
        (["migrate", "up", "--wrong"], 2, ["--wrong"]),
        (["migrate", "up"], 2, ["no database was named", "RIVER_DATABASE_URL"]),
        (["-d", "redis://localhost", "migrate", "up"], 2, ["redis://", "postgresql://"]),
        (["-d", "river.db", "migrate", "up"], 2, ["'river.db'", "sqlite:///"]),
        (["-d", "postgresql://127.0.0.1:1/x", "migrate", "status"], 1, ["127.0.0.1", "1"]),
        (["-d", "sqlite:///no/such/folder/x.db", "migrate", "status"], 1, ["no/such/folder"]),
        (["migrate", "get"], 2, ["--version"]),
        (["migrate", "get", "--version", "99"], 1, ["99"]),
        (["migrate", "list", "--line", "mian"], 1, ["mian", "main"]),
    ],
)
def test_errors_are_one_readable_line(
    arguments: list[str], code: int, parts: list[str], tmp_path: Path
) -> None:
    """A wrong call names the value and the way out, without a traceback."""
    ran = run(*arguments, cwd=tmp_path)
    assert ran.code == code
    assert "Traceback" not in ran.stderr
    assert all(part in ran.stderr for part in parts), ran.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("status",),
        ("inspect", "ping"),
        ("control", "shutdown"),
        ("call", "shop.add"),
        ("result", "some-id"),
        ("purge", "-f"),
    ],
    ids=" ".join,
)
def test_a_database_that_is_away_is_one_line_from_each_command(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """Celery's API raises kombu's error there; whoever asks by a command gets no traceback."""
    (tmp_path / "shop.py").write_text('from river_compat.celery import Celery\napp = Celery("shop")\n')
    ran = run(
        "-A", "shop", *arguments, cwd=tmp_path, env={"RIVER_DATABASE_URL": "postgresql://127.0.0.1:1/x"}
    )
    assert ran.code == 1
    (line,) = ran.stderr.splitlines()
    assert line.startswith("river-compat: ")
    assert "127.0.0.1" in line


@pytest.mark.parametrize(
    "name",
    ["flower", "events", "multi"],
)
def test_commands_of_celery_say_what_to_do_instead(name: str, tmp_path: Path) -> None:
    """Each of them by name, with options of its own behind it, in one line."""
    ran = run("-A", "proj", name, "-q", "--other", cwd=tmp_path)
    assert ran.code == 2
    last = ran.stderr.splitlines()[-1]
    assert last.startswith(f"Error: No such command {name!r}: ")
    assert ";" in last


@pytest.mark.parametrize(
    "arguments",
    [
        ("migrate", "status"),
        ("migrate", "list"),
        ("migrate", "validate"),
        ("migrate", "down", "--yes"),
        ("-A", "shop", "worker"),
    ],
    ids=" ".join,
)
def test_a_mistyped_path_is_named_and_leaves_no_file(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """What only reads a database creates none."""
    (tmp_path / "shop.py").write_text('from river_compat.celery import Celery\napp = Celery("shop")\n')
    ran = run("-d", "sqlite:///mistyped.db", *arguments, cwd=tmp_path)
    assert ran.code == 1
    assert f"there is no database file {tmp_path / 'mistyped.db'}" in ran.stderr
    assert not list(tmp_path.glob("mistyped*"))


@pytest.mark.parametrize(
    "arguments",
    [("migrate", "up", "--dry-run"), ("migrate", "get", "--all")],
    ids=" ".join,
)
def test_a_look_at_what_would_be_done_leaves_no_file(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """It shows all versions as for an empty database."""
    ran = run("-d", "sqlite:///new.db", *arguments, cwd=tmp_path)
    assert ran.code == 0, ran.stderr
    assert "008" in ran.stdout or "version 8" in ran.stdout
    assert not list(tmp_path.glob("new*"))


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("postgresql://me:secret@host/shop", "postgresql://me:***@host/shop"),
        ("postgresql://host/shop?user=me&password=secret", "postgresql://host/shop?user=me&password=***"),
        ("postgresql://host/shop?sslpassword=secret", "postgresql://host/shop?sslpassword=***"),
        ("postgresql:///shop", "postgresql:///shop"),
        ("sqlite:////var/lib/my%20river.db", "SQLite file /var/lib/my river.db"),
        ("sqlite://", "a SQLite database in memory"),
    ],
)
def test_a_database_is_shown_without_its_password(url: str, text: str) -> None:
    """In the banner and in errors."""
    assert place_of(url).text == text


def test_a_relative_path_is_shown_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong working directory is the usual mistake."""
    monkeypatch.chdir(tmp_path)
    assert place_of("sqlite:///river.db").text == f"SQLite file {tmp_path / 'river.db'}"


def test_database_comes_from_the_environment(tmp_path: Path) -> None:
    """RIVER_DATABASE_URL wins over DATABASE_URL, and the option over both."""
    environment = {"RIVER_DATABASE_URL": "sqlite:///river.db", "DATABASE_URL": "sqlite:///other.db"}
    for expected, arguments in (("river.db", ()), ("given.db", ("-d", "sqlite:///given.db"))):
        assert run(*arguments, "migrate", "up", cwd=tmp_path, env=environment).code == 0
        assert (tmp_path / expected).exists()
    assert not (tmp_path / "other.db").exists()
    assert run("migrate", "up", cwd=tmp_path, env={"DATABASE_URL": "sqlite:///other.db"}).code == 0
    assert (tmp_path / "other.db").exists()


def test_the_database_of_the_application_is_used(tmp_path: Path) -> None:
    """With -A its settings say where, before the environment; -d wins over both."""
    application = (
        'from river_compat.celery import Celery\napp = Celery("shop", broker="sqlite:///of_app.db")\n'
    )
    (tmp_path / "shop.py").write_text(application)
    environment = {"RIVER_DATABASE_URL": "sqlite:///other.db"}
    assert run("-A", "shop", "migrate", "up", cwd=tmp_path, env=environment).code == 0
    assert (tmp_path / "of_app.db").exists()
    assert run("-A", "shop", "-d", "sqlite:///given.db", "migrate", "up", cwd=tmp_path).code == 0
    assert (tmp_path / "given.db").exists()
    assert not (tmp_path / "other.db").exists()


def test_libpq_variables_name_the_database(postgres_url: str) -> None:
    """With PGDATABASE set and no URL, libpq's variables are used, PGOPTIONS and PGPASSWORD included."""
    assert applied(run("migrate", "up", "--json", env=libpq_environment(postgres_url))) == list(range(1, 9))


def libpq_environment(url: str) -> dict[str, str]:
    """The same database as the URL, in libpq's variables."""
    from psycopg.conninfo import conninfo_to_dict

    names = {
        "host": "PGHOST",
        "port": "PGPORT",
        "user": "PGUSER",
        "password": "PGPASSWORD",
        "dbname": "PGDATABASE",
        "options": "PGOPTIONS",
    }
    return {names[key]: str(value) for key, value in conninfo_to_dict(url).items() if key in names}


def applied(ran: Ran) -> list[int]:
    """The versions that a `migrate --json` moved."""
    assert ran.code == 0, ran.stderr
    return [each["version"] for each in json.loads(ran.stdout)["versions"]]
