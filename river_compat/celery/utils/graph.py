"""Graphs of things that depend on others, sorted and drawn (`celery.utils.graph`)."""

from __future__ import annotations

from collections.abc import Hashable, ItemsView, Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from typing import IO, TYPE_CHECKING, Any

from river_compat.celery.refused_names import lacking, refusing
from river_compat.celery.ways_out import INTERNAL

__all__ = ["CycleError", "DependencyGraph", "GraphFormatter"]


@lacking(INTERNAL, "FMT")
class GraphFormatter:
    """Says how a graph looks in Graphviz' dot language; keywords are attributes of nodes and edges."""

    graph_scheme: dict[str, Any] = {"bgcolor": "mintcream"}  # noqa: RUF012 - may be replaced in a subclass
    node_scheme: dict[str, Any] = {"fillcolor": "palegreen3", "color": "palegreen4"}  # noqa: RUF012
    term_scheme: dict[str, Any] = {"fillcolor": "palegreen1", "color": "palegreen2"}  # noqa: RUF012
    edge_scheme: dict[str, Any] = {"color": "darkseagreen4", "arrowsize": 0.7}  # noqa: RUF012

    def __init__(
        self,
        root: Any = None,
        type: str | None = None,  # noqa: A002 - the parameter is Celery's
        id: str | None = None,  # noqa: A002
        **scheme: Any,
    ) -> None:
        """Draw a `digraph`, or another `type` of dot's, under a name."""
        self.root = root
        self.type = type or "digraph"
        self.id = id or "dependencies"
        self.scheme = {"shape": "box", "style": "filled", **scheme}

    def label(self, obj: Any) -> Any:
        """Return the name under which a node is drawn; may be overridden."""
        return obj

    def attr(self, name: str, value: Any) -> str:
        """Return one attribute as dot writes it."""
        return f'{name}="{value}"'

    def attrs(self, d: dict[str, Any] | None, scheme: dict[str, Any] | None = None) -> str:
        """Return attributes as dot writes them."""
        merged = {**self.scheme, **(scheme or {}), **(d or {})}
        return ", ".join(self.attr(name, value) for name, value in merged.items())

    def draw_node(self, obj: Any, scheme: dict[str, Any] | None = None, attrs: Any = None) -> str:
        """Return the line of a node."""
        return f'    "{self.label(obj)}" [{self.attrs(attrs, scheme)}]'

    def draw_edge(self, a: Any, b: Any, scheme: dict[str, Any] | None = None, attrs: Any = None) -> str:
        """Return the line of an edge."""
        arrow = "--" if self.type == "graph" else "->"
        style = self.attrs(attrs, self.edge_scheme if scheme is None else scheme)
        return f'    "{self.label(a)}" {arrow} "{self.label(b)}" [{style}]'

    def head(self, **attrs: Any) -> str:
        """Return the first line."""
        root = {"root": self.label(self.root)}
        return f"{self.type} {self.id} {{\n    graph [{self.attrs(attrs, self.graph_scheme | root)}]"

    def tail(self) -> str:
        """Return the last line."""
        return "}"

    def node(self, obj: Any, **attrs: Any) -> str:
        """Return the line of a node that depends on others."""
        return self.draw_node(obj, self.node_scheme, attrs)

    def terminal_node(self, obj: Any, **attrs: Any) -> str:
        """Return the line of a node that depends on none."""
        return self.draw_node(obj, self.term_scheme, attrs)

    def edge(self, a: Any, b: Any, **attrs: Any) -> str:
        """Return the line of an edge."""
        return self.draw_edge(a, b, attrs=attrs)


class DependencyGraph:
    """Objects, each with those that it depends on."""

    def __init__(self, it: Iterable[tuple[Any, Iterable[Any]]] | None = None, formatter: Any = None) -> None:
        """Take `(object, dependencies)` pairs."""
        self.formatter: Any = formatter or GraphFormatter()
        self.adjacent: dict[Any, list[Any]] = {}
        self.update(it or ())

    def add_arc(self, obj: Hashable) -> None:
        """Add an object."""
        self.adjacent.setdefault(obj, [])

    def add_edge(self, A: Any, B: Any) -> None:  # noqa: N803 - Celery's names
        """Let `A`, which must be there, depend on `B`."""
        self.adjacent[A].append(B)

    def update(self, it: Iterable[tuple[Any, Iterable[Any]]]) -> None:
        """Add `(object, dependencies)` pairs."""
        pairs = list(it)
        for obj, _ in pairs:
            self.add_arc(obj)
        for obj, dependencies in pairs:
            for dependency in dependencies:
                self.add_edge(obj, dependency)

    def connect(self, graph: DependencyGraph) -> None:
        """Add the objects of another graph."""
        self.adjacent.update(graph.adjacent)

    def topsort(self) -> list[Any]:
        """Return the objects, each behind all that it depends on; raises CycleError."""
        return list(TopologicalSorter(self.adjacent).static_order())

    def valency_of(self, obj: Any) -> int:
        """Return how many edges there are below an object, 0 for a stranger."""
        below = self.adjacent.get(obj, ())
        return len(below) + sum(self.valency_of(node) for node in below)

    def edges(self) -> Iterator[Any]:
        """Give the objects that depend on any."""
        return (obj for obj, dependencies in self.adjacent.items() if dependencies)

    def items(self) -> ItemsView[Any, list[Any]]:
        """Return the `(object, dependencies)` pairs."""
        return self.adjacent.items()

    iteritems = items

    def to_dot(self, fh: IO[str], formatter: Any = None) -> None:
        """Write the graph in Graphviz' dot language to an open file."""
        draw = formatter or self.formatter
        lines = [draw.head()]
        for obj, dependencies in self.adjacent.items():
            lines.append(draw.node(obj) if dependencies else draw.terminal_node(obj))
            lines.extend(draw.edge(obj, other) for other in dependencies)
        fh.write("\n".join([*lines, draw.tail(), ""]))

    def format(self, obj: Any) -> Any:
        """Return what the formatter, if any, makes of an object."""
        return self.formatter(obj) if self.formatter else obj

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the objects."""
        return iter(self.adjacent)

    def __getitem__(self, node: Any) -> list[Any]:
        """Return what an object depends on; raises KeyError."""
        return self.adjacent[node]

    def __len__(self) -> int:
        """Return how many objects there are."""
        return len(self.adjacent)

    def __contains__(self, obj: object) -> bool:
        """Whether an object is there."""
        return obj in self.adjacent

    def __repr__(self) -> str:
        """Show every object and what is below it."""
        return "\n".join(self.repr_node(node) for node in self)

    def repr_node(self, obj: Any, level: int = 1, fmt: str = "{0}({1})") -> str:
        """Return an object with its valency, and below it, indented, what it depends on."""
        lines = [fmt.format(obj, self.valency_of(obj))]
        for other in self.adjacent.get(obj, ()):
            lines.append("     " * level + fmt.format(other, self.valency_of(other)))
            lines.extend(self.repr_node(other, level + 1, fmt).split("\n")[1:])
        return "\n".join(lines)


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
