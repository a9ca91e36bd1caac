"""The loader that reads the module in CELERY_CONFIG_MODULE, `celeryconfig` by default."""

from __future__ import annotations

import os
import warnings
from typing import Any

from river_compat.celery.exceptions import NotConfigured
from river_compat.celery.loaders.base import BaseLoader
from river_compat.celery.utils.collections import DictAttribute
from river_compat.celery.utils.serialization import strtobool

__all__ = ["DEFAULT_CONFIG_MODULE", "Loader"]

DEFAULT_CONFIG_MODULE = "celeryconfig"
C_WNOCONF = strtobool(os.environ.get("C_WNOCONF", False))


class Loader(BaseLoader):
    """The loader of the default application, which nobody has configured."""

    def setup_settings(self, settingsdict: Any) -> DictAttribute:
        """Return settings by attribute and key."""
        return DictAttribute(settingsdict)

    def read_configuration(  # pyright: ignore[reportIncompatibleMethodOverride]  # the names are Celery's
        self, fail_silently: Any = True
    ) -> Any:
        """Return the module's settings; without the module it warns, or raises unless `fail_silently`."""
        name = os.environ.get("CELERY_CONFIG_MODULE") or DEFAULT_CONFIG_MODULE
        try:
            module = self.import_from_cwd(name)
        except ImportError:
            if not fail_silently:
                raise
            if C_WNOCONF:
                warnings.warn(
                    NotConfigured(f"no module {name} was found; make one, or set CELERY_CONFIG_MODULE"),
                    stacklevel=2,
                )
            return self.setup_settings({})
        self.configured = True
        return self.setup_settings(module)
