"""Arguments of a job in whatever form the application has them.

Anything with `kind` and `to_json()` is taken as it is; a dict, a dataclass and a model of pydantic
become that.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from river_core.encoding import encode_json
from river_core.errors import ValidationError
from river_core.insert import EncodedArgs, JobArgs

_WAYS = (
    "give an object with `kind` and `to_json()`, a dataclass or pydantic model with a class attribute "
    '`kind`, or a dict such as {"kind": "send_mail", "to": 7}'
)


@dataclasses.dataclass(frozen=True, slots=True)
class _WithOpts(EncodedArgs):
    """Arguments whose class has options of its own."""

    own: Any = None

    def insert_opts(self) -> Any:
        """Return what the class says; it is checked with the other options."""
        return self.own() if callable(self.own) else self.own


def as_job_args(args: Any) -> JobArgs:
    """Return the arguments as `JobArgs`; raises ValidationError for a form that is none of these.

    A dict names its kind under `kind`, which is not stored with the rest.
    """
    if hasattr(args, "kind") and getattr(args, "to_json", None) is not None:  # isinstance takes 12 µs in 3.11
        known: JobArgs = args
        return known
    if isinstance(args, Mapping):
        return _encoded(args.get("kind"), {key: value for key, value in args.items() if key != "kind"}, None)
    kind = getattr(args, "kind", None)
    dump = getattr(args, "model_dump", None)
    if callable(dump):
        return _encoded(kind, dump(mode="json"), args)
    if dataclasses.is_dataclass(args) and not isinstance(args, type):
        return _encoded(kind, dataclasses.asdict(args), args)
    raise ValidationError(f"{args!r} cannot be the arguments of a job: {_WAYS}")


def _encoded(kind: Any, values: Any, source: Any) -> JobArgs:
    if not isinstance(kind, str):
        raise ValidationError(f"the kind of these arguments must be text, not {kind!r}: {_WAYS}")
    text = encode_json(values)
    own = getattr(source, "insert_opts", None)
    return EncodedArgs(kind, text) if own is None else _WithOpts(kind, text, own)
