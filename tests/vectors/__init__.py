"""What River itself does, as data; `README.md` names the origin of each file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def load(name: str) -> Any:
    """Return the parsed file of that path below this folder, such as `schema_postgres.json`."""
    return json.loads((FOLDER / name).read_text("utf-8"))
