"""The page about Celery's own tests says what was run, what was not, and why each failure is one."""

from __future__ import annotations

import json
import re

from tests.docs.documents import ROOT

HARNESS = ROOT / "tests/peer/celery"
PAGE = (ROOT / "docs/reference/celery-tests.md").read_text("utf-8")


def test_the_page_begins_as_its_maker_writes_it() -> None:
    """Whoever changes one changes the other: a run is needed for the figures alone."""
    head = (HARNESS / "page.py").read_text("utf-8").split("HEAD = '''")[1].split("'''")[0]
    assert PAGE.startswith(head)


def test_the_figures_are_those_of_the_baseline() -> None:
    """Both suites, whole; the modules add up to them, and each failure is listed."""
    results = json.loads((HARNESS / "baseline-5.7.0.json").read_text("utf-8"))["results"]
    failures = PAGE.partition("## Every test that does not pass")[2].partition("## Applications")[0]
    listed = sum(line.count("`") // 2 for line in failures.splitlines() if line.startswith("  `"))
    missing = 0
    for suite in ("unit", "integration"):
        row = re.search(rf"^\| {suite} \| (\d+) \| (\d+) \|", PAGE, re.MULTILINE)
        assert row is not None
        modules = re.findall(rf"^\| `t/{suite}/\S+` \| (\d+) \| (\d+) \|", PAGE, re.MULTILINE)
        sums = [sum(map(int, column)) for column in zip(*modules, strict=True)]
        assert sums == [int(number) for number in row.groups()]
        assert sums[0] == sum(f"/{suite}/" in name for name in results)
        missing += sums[0] - sums[1]
    assert listed == missing


def test_what_differs_from_the_defaults_and_what_is_left_out_is_said() -> None:
    """Readers must not take the share for one of Celery."""
    profile = (HARNESS / "profiles/river_compat.py").read_text("utf-8")
    assert "'river_stream_chords': True" in profile
    assert "sets `river_stream_chords = True`" in PAGE
    assert "selection is the\nharness's" in PAGE
    assert "not looked into" not in PAGE.lower()
