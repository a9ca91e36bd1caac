"""`xmap`, `xstarmap` and `chunks`: one task for many items, and many items in a few tasks."""

from __future__ import annotations

from itertools import islice
from typing import Any

from river_compat.celery.canvas.groups import group
from river_compat.celery.canvas.lazy import lazy
from river_compat.celery.canvas.options import given
from river_compat.celery.canvas.signature import Signature

SHOWN_CHARACTERS = 100


class _Mapped(Signature):
    """One task that calls another for each item, in order, in one process."""

    name_of_task = ""

    def __init__(self, task: Any, it: Any, **options: Any) -> None:
        """Take the signature of the task to call, and the items."""
        super().__init__(self.name_of_task, (), {"task": task, "it": lazy(it)}, immutable=True, **options)
        self.subtask_type = type(self).__name__

    @classmethod
    def from_dict(cls, d: dict[str, Any], app: Any = None) -> Any:
        """Return what a dict describes."""
        return cls(d["kwargs"]["task"], d["kwargs"]["it"], app=app, **d["options"])

    def apply_async(
        self, args: Any = None, kwargs: Any = None, route_name: str | None = None, **options: Any
    ) -> Any:
        """Send the one task; later arguments are left out."""
        merged = self._merge(options=given(options))[2]
        inner = self.kwargs["task"]
        name = merged.pop("route_name", route_name) or getattr(inner, "name", inner)
        items = list(self.kwargs["it"])
        return self._apply_async((), {"task": inner, "it": items}, route_name=name, **merged)

    def _shown(self, call: str) -> str:
        text = repr(self.kwargs["it"])
        if len(text) > SHOWN_CHARACTERS:
            text = f"{text[: SHOWN_CHARACTERS - 3]}..."
        return f"[{self.kwargs['task']['task']}({call}) for x in {text}]"


@Signature.register_type()
class xmap(_Mapped):  # noqa: N801 - Celery's name
    """`[task(x) for x in it]` as one task."""

    name_of_task = "celery.map"

    def __repr__(self) -> str:
        """Show it as a comprehension."""
        return self._shown("x")


@Signature.register_type()
class xstarmap(_Mapped):  # noqa: N801 - Celery's name
    """`[task(*x) for x in it]` as one task."""

    name_of_task = "celery.starmap"

    def __repr__(self) -> str:
        """Show it as a comprehension."""
        return self._shown("*x")


@Signature.register_type()
class chunks(Signature):  # noqa: N801 - Celery's name
    """A group of `xstarmap`s over `n` items each."""

    def __init__(self, task: Any, it: Any, n: int, **options: Any) -> None:
        """Take the signature of the task to call, the items, and how many go into one task."""
        held = {"task": task, "it": lazy(it), "n": n}
        super().__init__("celery.chunks", (), held, immutable=True, **options)
        self.subtask_type = "chunks"

    @classmethod
    def from_dict(cls, d: dict[str, Any], app: Any = None) -> Any:
        """Return what a dict describes."""
        held = d["kwargs"]
        return cls(held["task"], held["it"], held["n"], app=app, **d["options"])

    def __call__(self, **options: Any) -> Any:
        """Send the group."""
        return self.apply_async(**options)

    def apply_async(  # type: ignore[override]
        self, args: Any = None, kwargs: Any = None, **options: Any
    ) -> Any:
        """Send the group."""
        inner = self.kwargs["task"]
        return self.group().apply_async(args, kwargs, route_name=getattr(inner, "name", inner), **options)

    def group(self) -> Any:
        """Return the group of tasks."""
        held = self.kwargs
        parts = _parts(held["it"], held["n"])
        return group((xstarmap(held["task"], part, app=self._app) for part in parts), app=self._app)

    @classmethod
    def apply_chunks(cls, task: Any, it: Any, n: int, app: Any = None) -> Any:
        """Send the group of what `chunks(task, it, n)` is."""
        return cls(task, it, n, app=app)()


def _parts(items: Any, size: int) -> Any:
    source = iter(items)
    while part := list(islice(source, size)):
        yield part
