"""How many tasks a worker runs at once where that is to be found out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from river_compat.celery import Celery
from river_compat.celery.command import WorkerOptions, concurrency
from river_compat.celery.utils import sysinfo


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("groups", "files", "quota"),
    [
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "150000 100000\n"}, 1.5),
        ("0::/a\n", {"a/cpu.max": "max 100000\n"}, None),
        (
            "2:cpu,cpuacct:/x\n",
            {"cpu,cpuacct/x/cpu.cfs_quota_us": "50000", "cpu,cpuacct/x/cpu.cfs_period_us": "100000"},
            0.5,
        ),
        ("2:cpu:/x\n", {"cpu/x/cpu.cfs_quota_us": "-1", "cpu/x/cpu.cfs_period_us": "100000"}, None),
        ("", {"cpu.max": "300000 100000"}, 3.0),
    ],
)
def test_quotas_of_control_groups_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: str, files: dict[str, str], quota: float | None
) -> None:
    """Of both hierarchies, the smallest of a group and those above it."""
    write(tmp_path, {"self": groups, **{f"root/{name}": text for name, text in files.items()}})
    monkeypatch.setattr(sysinfo, "PROC_SELF_CGROUP", str(tmp_path / "self"))
    monkeypatch.setattr(sysinfo, "CGROUP_ROOT", str(tmp_path / "root"))
    assert sysinfo.cgroup_cpu_quota() == quota


@pytest.mark.parametrize(("pool", "expected"), [("prefork", 2), ("threads", 8)])
def test_auto_keeps_to_the_quota_where_processors_are_needed(
    monkeypatch: pytest.MonkeyPatch, pool: str, expected: int
) -> None:
    """Row 15.2. Rounded up, at least one."""
    monkeypatch.setattr(sysinfo, "available_cpu_count", lambda: 8)
    monkeypatch.setattr(sysinfo, "cgroup_cpu_quota", lambda: 1.2)
    app = Celery("auto", set_as_current=False)
    for given in ("auto", " AUTO "):
        assert concurrency(app, WorkerOptions(concurrency=given, pool=pool)) == expected


def test_a_disk_and_the_load_are_told(tmp_path: Path) -> None:
    """In Celery's units."""
    disk = sysinfo.df(tmp_path)
    assert 0 <= disk.available <= disk.total_blocks
    assert disk.total_blocks == os.statvfs(tmp_path).f_blocks * os.statvfs(tmp_path).f_frsize / 1024
    assert 0 <= disk.capacity <= 101
    assert len(sysinfo.load_average()) == 3
