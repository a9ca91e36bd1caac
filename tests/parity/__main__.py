"""`python -m tests.parity list`, and `... show CASE ...`: what each backend lets a user see.

`... table` writes the page of rows and cases.
"""

from __future__ import annotations

import argparse
import json

from river_compat.dev_database import find_postgres
from tests.parity import table
from tests.parity.backends import CASES
from tests.parity.running import ObservationError, Run
from tests.parity.sessions import backends, runs
from tests.redis_server import find_redis

ANSWER_TIMEOUT = 120.0


def main() -> None:
    """Read the command line and print cases or observations."""
    parser = argparse.ArgumentParser(prog="python -m tests.parity")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="name every case")
    commands.add_parser("table", help="write the page that says which cases stand for which row")
    show = commands.add_parser("show", help="run cases on every backend and print what was seen")
    show.add_argument("case", nargs="+", choices=CASES)
    arguments = parser.parse_args()
    if arguments.command == "list":
        print("\n".join(CASES))  # noqa: T201 - a command prints
    elif arguments.command == "table":
        _write_table()
    else:
        _show(arguments.case)


def _write_table() -> None:
    known, found = table.rows(), list(table.proofs())
    for problem in table.problems(known, found):
        print(problem)  # noqa: T201 - as above
    table.PAGE.write_text(table.render(known, found), "utf-8")


def _show(cases: list[str]) -> None:
    with (
        find_redis() as redis_url,
        find_postgres() as postgres,
        backends(redis_url, postgres.url) as found,
        runs(found, cases) as started,
    ):
        for case in cases:
            for name, run in started.items():
                print(f"--- {case} on {name}\n{_seen(run, case)}", flush=True)  # noqa: T201 - as above


def _seen(run: Run, case: str) -> str:
    try:
        return json.dumps(run.observation(case, ANSWER_TIMEOUT), indent=1, ensure_ascii=False)
    except ObservationError as error:
        return str(error)


if __name__ == "__main__":
    main()
