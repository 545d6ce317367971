"""A skeleton drawn in another space than its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from skeltraj.core._graph.graph import Graph
from skeltraj.core._runtime import check


@dataclass(frozen=True, repr=False, eq=False)
class PlacedSkeleton:
    """A skeleton in another space: where its nodes stand there, and how its edges run.

    Parameters
    ----------
    graph
        The skeleton.
    nodes
        Places of its nodes, (n_nodes, n_dimensions).
    courses
        Places along each edge, from its first node to its second, (n_edges, n_steps + 1, n_dimensions); of straight
        edges the two ends.
    """

    graph: Graph
    nodes: np.ndarray
    courses: np.ndarray

    @classmethod
    def straight(cls, graph: Graph, nodes: np.ndarray) -> Self:
        """A skeleton whose nodes stand at places, (n_nodes, n_dimensions), and whose edges are straight."""
        return cls(graph, nodes, nodes[graph.edges])

    def __repr__(self) -> str:
        run = "straight edges" if self.courses.shape[1] == 2 else f"edges of {self.courses.shape[1] - 1} steps"
        return f"PlacedSkeleton: {len(self.nodes)} nodes in {self.nodes.shape[1]} dimensions, {len(self.courses)} {run}"

    def along(self, path: np.ndarray) -> np.ndarray:
        """Places along a path of nodes, in its order, (n, n_dimensions)."""
        path = check.numbers(path, "path", self.graph.n_nodes, "nodes")
        if len(path) < 2:
            return self.nodes[path]
        edges = self.graph.edges_along(path)
        turned = self.graph.edges[edges, 0] != path[:-1]
        courses = np.where(turned[:, None, None], self.courses[edges, ::-1], self.courses[edges])
        return np.concatenate([courses[0], *courses[1:, 1:]])

    def part(self, columns: list[int]) -> PlacedSkeleton:
        """The same in some of the dimensions."""
        return PlacedSkeleton(self.graph, self.nodes[:, columns], self.courses[:, :, columns])
