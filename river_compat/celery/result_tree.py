"""Results as nodes: what a task has sent are its children, what came before it in a chain its parent."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from river_compat.celery.exceptions import IncompleteStream
from river_compat.celery.result_base import TaskFacts
from river_compat.celery.utils.graph import DependencyGraph, GraphFormatter

if TYPE_CHECKING:
    from river_compat.celery.async_result import AsyncResult


class ResultTree(TaskFacts):
    """The walks through a task's children that `AsyncResult` offers."""

    id: str

    def iterdeps(self, intermediate: bool = False) -> Iterator[tuple[Any, Any]]:
        """Give `(parent, node)` for this result and all below it, level by level.

        Raises IncompleteStream at a node that has not ended; with `intermediate` such a node is given
        as a leaf.
        """
        waiting: deque[tuple[Any, Any]] = deque([(None, self)])
        while waiting:
            parent, node = waiting.popleft()
            yield parent, node
            if node.ready():
                waiting.extend((node, child) for child in node.children or ())
            elif not intermediate:
                raise IncompleteStream(f"task {node.id} has not ended; wait for it, or use intermediate=True")

    def collect(self, intermediate: bool = False, **kwargs: Any) -> Iterator[tuple[Any, Any]]:
        """Give `(result, value)` for this result and all below it; keywords are those of `get`.

        Of a task that sends a group of ten, each of whose members sends one that squares its number, the
        leaves are the squares:

        >>> [value for node, value in result.collect() if not node.children]
        [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]

        The tasks need `trail=True`, the default.
        """
        for _, node in self.iterdeps(intermediate=intermediate):
            yield node, node.get(**kwargs)

    def get_leaf(self) -> Any:
        """Return the value of the last node that `iterdeps` gives."""
        value = None
        for _, node in self.iterdeps():
            value = node.get()
        return value

    def build_graph(self, intermediate: bool = False, formatter: Any = None) -> DependencyGraph:
        """Return the graph of this result and all below it."""
        graph = DependencyGraph(formatter=formatter or GraphFormatter(root=self.id, shape="oval"))
        for parent, node in self.iterdeps(intermediate=intermediate):
            graph.add_arc(node)
            if parent is not None:
                graph.add_edge(parent, node)
        return graph

    @property
    def graph(self) -> DependencyGraph:
        """The graph of this result and all below it."""
        return self.build_graph()

    def as_tuple(self) -> Any:
        """Return `((id, parent), None)`, the parent in the same form; `result_from_tuple` reads it."""
        return (self.id, self.parent and self.parent.as_tuple()), None

    def as_list(self) -> list[str]:
        """Return the id and those of the parents."""
        return [self.id, *(self.parent.as_list() if self.parent is not None else ())]

    def _parents(self) -> Iterator[AsyncResult[Any]]:
        node = self.parent
        while node is not None:
            yield node
            node = node.parent
