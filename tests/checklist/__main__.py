"""Write the page of the checklist from the tests, and say what is missing."""

from __future__ import annotations

import sys

from tests.checklist.collecting import collect
from tests.checklist.page import PAGE, problems, render
from tests.checklist.statements import statements


def main() -> int:
    """Write the page; the exit code is 1 when the checklist is not whole."""
    known, proofs = statements(), collect()
    PAGE.write_text(render(known, proofs), "utf-8")
    found = list(problems(known, proofs))
    sys.stdout.write("".join(f"{line}\n" for line in found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
