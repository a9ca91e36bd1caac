"""What this machine has to offer a worker (`celery.utils.sysinfo`): processors, load, disk space."""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import ceil
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

__all__ = [
    "AUTO_CONCURRENCY",
    "CpuBudget",
    "available_cpu_count",
    "cgroup_cpu_quota",
    "cpu_budget",
    "df",
    "is_auto_concurrency",
    "load_average",
]

AUTO_CONCURRENCY = "auto"
"""As `worker_concurrency` or `-c`: as many as the processors, and the quota of the control group, allow."""
CGROUP_ROOT = "/sys/fs/cgroup"
PROC_SELF_CGROUP = "/proc/self/cgroup"


class CpuBudget(NamedTuple):
    """How many tasks to run at once, of how many processors, under which quota (None for none)."""

    count: int  # type: ignore[assignment]  # as Celery calls it, over the tuple's method
    available: int
    quota: float | None


def is_auto_concurrency(value: Any) -> bool:
    """Whether a concurrency is to be found out."""
    return isinstance(value, str) and value.strip().lower() == AUTO_CONCURRENCY


def available_cpu_count() -> int:
    """Return how many processors this process may use; 2 where that cannot be known."""
    by_python: Any = getattr(os, "process_cpu_count", None)  # since 3.13
    try:
        found = len(os.sched_getaffinity(0)) if by_python is None else by_python()
    except (AttributeError, OSError):
        found = None
    return found or os.cpu_count() or 2


def cpu_budget(use_cgroup_quota: bool = True) -> CpuBudget:
    """Return how many tasks to run at once: one for each processor, no more than the quota rounded up."""
    available = available_cpu_count()
    quota = cgroup_cpu_quota() if use_cgroup_quota else None
    count = available if quota is None else min(available, max(1, ceil(quota)))
    return CpuBudget(count, available, quota)


def cgroup_cpu_quota() -> float | None:
    """Return for how many processors the control groups of this process allow time; None without limit."""
    unified, classic, mount = _cgroups()
    if unified is None and classic is None:
        unified = classic = "/"
    if unified is not None:
        quotas = list(_quotas(CGROUP_ROOT, unified, ("cpu.max",)))
        if quotas:
            return min(quotas)
    for name in dict.fromkeys((mount, "cpu")) if classic is not None else ():
        files = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        quotas = list(_quotas(f"{CGROUP_ROOT}/{name}", classic or "/", files))
        if quotas:
            return min(quotas)
    return None


def _cgroups() -> tuple[str | None, str | None, str]:
    """Return this process's path in the unified hierarchy and in that of `cpu`, and the latter's name."""
    unified, classic, mount = None, None, "cpu"
    for line in (_text(PROC_SELF_CGROUP) or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            unified = path
        elif "cpu" in controllers.split(","):
            classic, mount = path, controllers
    return unified, classic, mount


def _quotas(root: str, path: str, files: tuple[str, ...]) -> Iterator[float]:
    """Give the quotas of a control group and of all above it."""
    inside = PurePosixPath(os.path.normpath("/" + path.lstrip("/")))
    for group in (inside, *inside.parents):
        texts = [_text(f"{root}{group}/{name}") for name in files]
        words = " ".join(text or "" for text in texts).split()
        if len(words) == 2 and all(word.isdecimal() for word in words) and int(words[0]) and int(words[1]):
            yield int(words[0]) / int(words[1])


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text("ascii", "replace")
    except OSError:
        return None


def load_average() -> tuple[float, ...]:
    """Return the load of the last 1, 5 and 15 minutes, rounded up to hundredths."""
    return tuple(ceil(load * 100) / 100 for load in os.getloadavg())


class df:  # noqa: N801 - Celery's name
    """The space on the disk that holds `path`, in kibibytes and percent."""

    def __init__(self, path: Any) -> None:
        """Take any path on it."""
        self.path = path

    @property
    def stat(self) -> os.statvfs_result:
        """What the system says."""
        return os.statvfs(Path(self.path).absolute())

    @property
    def total_blocks(self) -> float:
        """The size of the disk."""
        return self.stat.f_blocks * self.stat.f_frsize / 1024

    @property
    def available(self) -> float:
        """What may still be written."""
        return self.stat.f_bavail * self.stat.f_frsize / 1024

    @property
    def capacity(self) -> int:
        """How much is used, in percent of what this user may use, rounded up."""
        stat = self.stat
        used = stat.f_blocks - stat.f_bfree
        return ceil(used * 100.0 / (used + stat.f_bavail) + 0.5)
