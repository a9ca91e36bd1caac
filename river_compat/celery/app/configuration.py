"""The part of an application that knows its settings: sources, loader, zone, and the signals around them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime, tzinfo
from functools import cached_property
from typing import Any

from river_compat.celery.app import database
from river_compat.celery.app.settings import Settings
from river_compat.celery.exceptions import ImproperlyConfigured
from river_compat.celery.priority import scheme_of
from river_compat.celery.utils.dispatch import Signal
from river_compat.celery.utils.zones import timezone
from river_core import clock

DEFAULT_LOADER = "app"


class Configuration:
    """Settings of an application, and who hears of them.

    `on_configure` is sent before settings are first read, `on_after_configure` with `source` after it,
    `on_after_finalize` when every task is bound, `on_after_fork` in each forked child.
    """

    main: str | None
    namespace: str | None
    conf: Settings
    on_configure: Any = None
    on_after_configure: Any
    on_after_finalize: Any
    on_after_fork: Any
    _loader_given: Any
    _timezone: Any

    def _start_signals(self) -> None:
        if self.on_configure is None:
            self.on_configure = Signal(name="app.on_configure")
        self.on_after_configure = Signal(name="app.on_after_configure", providing_args={"source"})
        self.on_after_finalize = Signal(name="app.on_after_finalize")
        self.on_after_fork = Signal(name="app.on_after_fork")

    def _before_load(self) -> None:
        if isinstance(self.on_configure, Signal):
            self.on_configure.send(sender=self)
        else:
            self.on_configure()

    def _after_load(self) -> None:
        self.on_after_configure.send(sender=self, source=self.conf)

    @property
    def configured(self) -> bool:
        """Whether the settings have been read."""
        return self.conf.configured

    @cached_property
    def loader(self) -> Any:
        """What finds configuration and task modules; its hooks are called in a worker's life."""
        from river_compat.celery.loaders import get_loader_cls

        given = self._loader_given or os.environ.get("CELERY_LOADER") or DEFAULT_LOADER
        return get_loader_cls(given)(app=self)

    def _use_loader_configuration(self) -> None:
        """Read what the loader finds, where the code has named no source.

        The variable CELERY_CONFIG_MODULE counts for every loader.
        """
        if self._loader_given or os.environ.get("CELERY_CONFIG_MODULE") or os.environ.get("CELERY_LOADER"):
            self.conf.use_reader(lambda: self.loader.conf)

    def config_from_object(
        self, obj: Any, silent: bool = False, force: bool = False, namespace: str | None = None
    ) -> None:
        """Read settings from an object, a mapping or a module's name, at the first use or now (`force`)."""
        self.namespace = namespace or self.namespace
        self.conf.use_source(obj, silent, self.namespace)
        if force:
            self.conf.load()

    def config_from_envvar(self, variable_name: str, silent: bool = False, force: bool = False) -> bool:
        """Read settings from the module that an environment variable names; returns whether there is one.

        Raises ImproperlyConfigured for a variable that is not set, ImportError with `force` for a module
        that is not there, both unless `silent`.
        """
        name = os.environ.get(variable_name)
        if not name:
            if silent:
                return False
            raise ImproperlyConfigured(
                f"the environment variable {variable_name!r} is not set; set it to the configuration module"
            )
        return self._config_from_module(name, silent, force)

    def _config_from_module(self, name: str, silent: bool, force: bool) -> bool:
        self.config_from_object(name, silent=False, namespace=self.namespace)
        try:
            self.conf.load()
        except ImportError:
            if not silent:
                raise
            self.conf.use_source({}, True, self.namespace)
            return False
        return True

    def config_from_cmdline(self, argv: Iterable[str], namespace: str = "celery") -> None:
        """Set values that a command line gives as `key=value`; see `loaders.cmdline`."""
        self.conf.update(self.loader.cmdline_config_parser(argv, namespace))

    def add_defaults(self, fun: Any) -> Any:
        """Add defaults, as a mapping or a function that returns one; usable as a decorator."""
        self.conf.add_defaults(fun)
        return fun

    @property
    def priority_scheme(self) -> str | None:
        """Which end of 0 to 9 is first, or None when nothing says it."""
        return scheme_of(self.conf.task_priority_scheme, database.old_broker_url(self.conf))

    @property
    def timezone(self) -> tzinfo:
        """The time zone of the settings, by default UTC, or the machine's where `enable_utc` is off."""
        zone = self._timezone or self.conf.timezone
        if not zone:
            return timezone.utc if self.conf.enable_utc else timezone.local
        return timezone.get_timezone(zone)

    @timezone.setter
    def timezone(self, zone: str | tzinfo) -> None:
        self._timezone = zone

    @timezone.deleter
    def timezone(self) -> None:
        self._timezone = None

    def uses_utc_timezone(self) -> bool:
        """Whether the application's zone is UTC."""
        return self.timezone == timezone.utc

    def now(self) -> datetime:
        """Return the time, aware, in the application's zone; in workers and beats by the database's clock."""
        return clock.now().astimezone(self.timezone)

    def bugreport(self) -> str:
        """Return versions and settings, without secrets, for a report."""
        from river_compat.celery.app.utils import bugreport

        return bugreport(self)
