"""The part of a signature that puts stamps on it and on what follows it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from river_compat.celery.canvas.stamps import gather


class Stamping:
    """Stamps a signature."""

    if TYPE_CHECKING:  # what a signature has
        app: Any
        options: Any
        set: Any

        def _linked_by(self, key: str, app: Any) -> list[Any]: ...

    def stamp(self, visitor: Any = None, append_stamps: bool = False, **headers: Any) -> Any:
        """Put stamps on the signature and its links: those given, and those that `visitor` returns."""
        self.stamp_links(visitor, append_stamps, **headers)
        visited = (visitor.on_signature(self, **headers) or {}) if visitor is not None else None
        return self.set(**gather(headers, visited, self.options, append_stamps))

    def stamp_links(self, visitor: Any, append_stamps: bool = False, **headers: Any) -> None:
        """Put stamps on what follows by `link` and `link_error`."""
        self._stamp_linked("link", visitor, "on_callback", append_stamps, headers)
        self._stamp_linked("link_error", visitor, "on_errback", append_stamps, headers)

    def _stamp_linked(
        self, key: str, visitor: Any, method: str, append: bool, headers: Mapping[str, Any]
    ) -> None:
        given = deepcopy(dict(headers))
        for link in self._linked_by(key, self.app):
            visited = (getattr(visitor, method)(link, **given) or {}) if visitor is not None else None
            given = gather(given, visited, None, append)
            link.stamp(visitor, append, **given)

    def _stamp_headers(
        self,
        visitor_headers: Mapping[str, Any] | None = None,
        append_stamps: bool = False,
        self_headers: bool = True,
        **headers: Any,
    ) -> dict[str, Any]:
        own = self.options if self_headers else None
        return gather(headers, visitor_headers, own, append_stamps)
