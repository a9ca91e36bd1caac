"""The kinds of pools as classes: libraries look at a worker's `pool_cls`, and at its module."""

from __future__ import annotations


class BasePool:
    """A kind of pool; what runs the tasks of it is River's worker."""

    is_green = False
    uses_semaphore = False


class PreforkPool(BasePool):
    """Tasks run in child processes."""


class ThreadPool(BasePool):
    """Tasks run in threads."""


class SoloPool(BasePool):
    """Tasks run one at a time in the thread of the worker."""


POOL_CLASSES: dict[str, type[BasePool]] = {"prefork": PreforkPool, "threads": ThreadPool, "solo": SoloPool}
