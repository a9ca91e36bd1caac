"""Celery's API on top of `river_core`: `river_compat.celery`."""

__all__ = ["install_as"]


def install_as(name: str) -> None:
    """Let `import celery` and imports of its submodules give `river_compat.celery` in this process.

    Call it before anything imports the library: first in the module that `-A` names, in `manage.py`, or in
    `conftest.py`. Harmless twice. Raises ConfigurationError for another name, and where the library itself
    has been imported already.
    """
    from river_compat.aliasing import install  # pytest imports this package for its plugin alone

    install(name)
