"""What is refused, with the way out: the errors of configuration. `celery.exceptions` has their names."""

# ruff: noqa: N818 - the names are Celery's

from __future__ import annotations

from river_core.errors import ConfigurationError

LATER = "it is not implemented yet"


class CeleryError(Exception):
    """Base of the errors."""


class ImproperlyConfigured(CeleryError):
    """A setting or an option is wrong."""


class UnsupportedFeature(ImproperlyConfigured, ConfigurationError):
    """Something of Celery's that is not supported here. The text names it and the way out."""


class UnsupportedAttribute(UnsupportedFeature, AttributeError):
    """An attribute of Celery's that is not here; `hasattr` answers no."""


class UnsupportedImport(UnsupportedFeature, ImportError):
    """A module of Celery's, or a name of one, that cannot be imported; `except ImportError` catches it."""


def unsupported_text(what: str, way_out: str) -> str:
    """Return the sentence of a refusal."""
    return f"{what} is not supported by river_compat: {way_out}"


def unsupported(what: str, way_out: str) -> UnsupportedFeature:
    """Return the error that refuses `what` and says what to do instead."""
    return UnsupportedFeature(unsupported_text(what, way_out))
