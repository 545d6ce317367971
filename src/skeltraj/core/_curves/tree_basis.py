"""Splines on a skeleton: functions that are smooth along every branch and continuous where branches meet."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.interpolate import BSpline

from skeltraj._docs import shared_texts
from skeltraj._printing import Printed
from skeltraj.core._graph.graph import Graph
from skeltraj.core._graph.mesh import Mesh
from skeltraj.core._graph.position import Position, positions_on
from skeltraj.core._runtime import check
from skeltraj.core._runtime.auto import is_auto

_N_KNOTS = 6  # along the longest path, chosen by measurement (benchmarks/gene_power.py)
_DEGREE = 3
_MIN_POINTS = 10  # different places on a branch for each coefficient of its own; chosen by eye


@dataclass(frozen=True, repr=False)
class LocalRows(Printed):
    """Rows of a design of which only a few entries, at places of their own, are not zero.

    Parameters
    ----------
    index
        Columns of the entries, (n, 4).
    value
        The entries, (n, 4); 0 where there are fewer.
    n_columns
        Columns of the design.
    """

    index: np.ndarray
    value: np.ndarray
    n_columns: int

    def __len__(self) -> int:
        return len(self.index)

    @cached_property
    def spans(self) -> np.ndarray:
        """Where rows with entries in the same columns begin, and the number of rows at the end, (n_spans + 1,)."""
        new = np.flatnonzero((self.index[1:] != self.index[:-1]).any(axis=1)) + 1
        return np.concatenate([[0], new, [len(self.index)]]) if len(self.index) else np.zeros(1, dtype=np.int64)

    def part(self, rows: Any) -> LocalRows:
        """Some of the rows."""
        return LocalRows(self.index[rows], self.value[rows], self.n_columns)

    def dense(self) -> np.ndarray:
        """The design as a matrix, (n, n_columns)."""
        X = np.zeros((len(self.index), self.n_columns))
        np.add.at(X, (np.arange(len(X))[:, None], self.index), self.value)
        return X

    def sparse(self) -> sparse.csr_matrix:
        """The design as a sparse matrix, (n, n_columns)."""
        n, width = self.index.shape
        parts = (self.value.ravel(), self.index.ravel(), np.arange(0, n * width + 1, width))
        return sparse.csr_matrix(parts, shape=(n, self.n_columns))

    def gram(self) -> np.ndarray:
        """Mean over the rows of the products of the columns, (n_columns, n_columns)."""
        total = np.zeros((self.n_columns, self.n_columns))
        for a in range(self.index.shape[1]):
            for b in range(self.index.shape[1]):
                np.add.at(total, (self.index[:, a], self.index[:, b]), self.value[:, a] * self.value[:, b])
        return total / max(len(self.index), 1)


@dataclass(frozen=True, repr=False)
class BranchSpline(Printed):
    """B-splines along one branch.

    Parameters
    ----------
    length
        Of the branch.
    degree
        Of the polynomials.
    knots
        Places along the branch where polynomials meet, its two ends included, (n_knots,).
    columns
        Columns of the design that the branch's B-splines have, (n_knots + degree - 1,): the first and the last are
        those of its two ends, shared with the branches that meet there.
    """

    length: float
    degree: int
    knots: np.ndarray
    columns: np.ndarray

    @cached_property
    def _padded(self) -> np.ndarray:
        return np.r_[[0.0] * self.degree, self.knots, [self.length] * self.degree]

    def rows(self, along: np.ndarray) -> np.ndarray:
        """Values at places along the branch, (n, number of columns)."""
        if not self.length > 0:  # both ends are one place
            return np.tile(np.r_[1.0, np.zeros(len(self.columns) - 1)], (len(along), 1))
        at = np.clip(along, 0.0, self.length)
        return BSpline.design_matrix(at, self._padded, self.degree).toarray()

    def roughness(self, order: int = 1) -> np.ndarray:
        """Integrals of the products of the first (or second, ...) derivatives, by Gauss and Legendre, exact."""
        n = len(self.columns)
        if not self.length > 0:
            return np.zeros((n, n))
        node, weight = np.polynomial.legendre.leggauss(self.degree + 1)
        half = np.diff(self.knots)[:, None] / 2
        at = (self.knots[:-1, None] + half * (1 + node)).ravel()
        slope = BSpline(self._padded, np.eye(n), self.degree).derivative(order)(at)
        return (slope * (half * weight).ravel()[:, None]).T @ slope


@dataclass(frozen=True, repr=False, eq=False)
class TreeBasis:
    """A basis of the functions on a skeleton that are splines along each branch and continuous where branches meet.

    Where branches meet they share one coefficient, the function's value there, so each branch begins with the value at
    which the one before it ended; slopes may change. The functions depend neither on a root nor on the order of the
    points; all coefficients equal is a constant.

    Parameters
    ----------
    graph
        The skeleton.
    splines
        One for each of ``graph.branches``.
    n_columns
        Number of coefficients.
    """

    graph: Graph
    splines: tuple[BranchSpline, ...]
    n_columns: int

    def __repr__(self) -> str:
        inner = sum(len(spline.knots) - 2 for spline in self.splines)
        return f"TreeBasis: {self.n_columns} coefficients on {len(self.splines)} branches, {inner} knots within them"

    @cached_property
    def _edges(self) -> tuple[np.ndarray, np.ndarray]:
        """How far along its branch each edge's first node lies; 1 where the branch runs with the edge, else -1."""
        begin, sign = np.zeros(len(self.graph.edges)), np.ones(len(self.graph.edges))
        for path in self.graph.branches:
            edges = self.graph.edges_along(path)
            ends = np.r_[0.0, np.cumsum(self.graph.edge_length[edges])]
            forward = self.graph.edges[edges, 0] == path[:-1]
            begin[edges] = np.where(forward, ends[:-1], ends[1:])
            sign[edges] = np.where(forward, 1.0, -1.0)
        return begin, sign

    def along(self, position: Position) -> tuple[np.ndarray, np.ndarray]:
        """Branch of each position, and how far along it, (n,) each; branch -1 at nodes without edges."""
        begin, sign = self._edges
        branch = self.graph.branch_of_edge[position.edge]
        if position.alone is not None:
            branch = np.where(position.alone < 0, branch, -1)
        length = self.graph.edge_length[position.edge]
        return branch, begin[position.edge] + sign[position.edge] * position.fraction * length

    def rows(self, position: Position) -> LocalRows:
        """The basis at positions.

        Raises
        ------
        ValueError
            If positions lie at nodes without edges, where there is no function.
        """
        branch, along = self.along(positions_on(self.graph, position))
        return self.at(branch, along)

    def at(self, branch: np.ndarray, along: np.ndarray) -> LocalRows:
        """The basis at places given by their branch and how far along it they lie, (n,) each."""
        lost = int((branch < 0).sum())
        if lost:
            raise ValueError(f"{lost} of {len(branch)} points lie at nodes without edges; wanted points on branches.")
        index = np.zeros((len(branch), _DEGREE + 1), dtype=np.int64)
        value = np.zeros((len(branch), _DEGREE + 1))
        for b, spline in enumerate(self.splines):
            here = np.flatnonzero(branch == b)
            if not len(here):
                continue
            values = spline.rows(along[here])
            width = spline.degree + 1
            first = np.minimum((values != 0).argmax(axis=1), values.shape[1] - width)
            taken = first[:, None] + np.arange(width)
            index[here, :width] = spline.columns[taken]
            value[here, :width] = np.take_along_axis(values, taken, axis=1)
        return LocalRows(index, value, self.n_columns)

    def places(self, n_steps: int = 20) -> tuple[np.ndarray, np.ndarray]:
        """Places at equal steps along every branch, its ends included: branch, and how far along it, each (n,)."""
        branch = np.repeat(np.arange(len(self.splines)), n_steps + 1)
        along = np.concatenate([np.linspace(0.0, spline.length, n_steps + 1) for spline in self.splines])
        return branch, along

    def position(self, branch: np.ndarray, along: np.ndarray) -> Position:
        """Positions on the skeleton of places given by their branch and how far along it they lie, (n,) each."""
        edge, fraction = np.zeros(len(branch), dtype=np.int64), np.zeros(len(branch))
        begin, sign = self._edges
        for b, path in enumerate(self.graph.branches):
            here = np.flatnonzero(branch == b)
            edges = self.graph.edges_along(path)
            ends = np.r_[0.0, np.cumsum(self.graph.edge_length[edges])]
            at = np.clip(np.searchsorted(ends, along[here], side="right") - 1, 0, len(edges) - 1)
            edge[here] = edges[at]
            length = self.graph.edge_length[edges[at]]
            step = (along[here] - begin[edges[at]]) * sign[edges[at]]
            fraction[here] = np.clip(np.divide(step, length, out=np.zeros(len(here)), where=length > 0), 0.0, 1.0)
        return Position(edge, fraction, np.zeros(len(branch)))

    @cached_property
    def roughness(self) -> np.ndarray:
        """Integral over the skeleton of the squared slope, as a quadratic form of the coefficients."""
        total = np.zeros((self.n_columns, self.n_columns))
        for spline in self.splines:
            np.add.at(total, np.ix_(spline.columns, spline.columns), spline.roughness())
        return total


def placed(basis: TreeBasis, position: Position) -> Position:
    """Positions as arguments of a public call beside a basis, both checked."""
    return positions_on(check.instance(basis, "basis", TreeBasis).graph, position)


@shared_texts
def tree_basis(graph: Graph, position: Position, n_knots: int | str = "auto") -> TreeBasis:
    """Choose knots on a skeleton, once for all responses.

    Each branch gets knots in proportion to its length, at quantiles of the points on it, and cubic polynomials between
    them; fewer knots and lower degrees where it has few points.

    Parameters
    ----------
    <graph>
    <position>
    n_knots
        Knots along the longest of the shortest paths between tips or forks, both ends included; at least 2.
        "auto": 6.

    Returns
    -------
    A :class:`TreeBasis`.

    Raises
    ------
    TypeError, ValueError
        If positions are not on the skeleton, it has no edges, or `n_knots` is no number from 2 up.

    Examples
    --------
    <example_tree>
    >>> position = core.locate(graph, points)
    >>> basis = core.tree_basis(graph, position)
    >>> [len(spline.knots) for spline in basis.splines]  # of each branch
    [4, 3, 3]
    >>> basis.n_columns
    14
    """
    if isinstance(graph, Mesh):
        raise ValueError("graph joins the points themselves and has no branches; wanted a skeleton that has some.")
    position = positions_on(graph, position)
    n_knots = _N_KNOTS if is_auto(n_knots) else check.count(n_knots, "n_knots", at_least=2)
    if not len(graph.edges):
        raise ValueError(f"the skeleton has {graph.n_nodes} nodes but no edges, so nothing changes along it.")
    lengths = np.bincount(graph.branch_of_edge, graph.edge_length, minlength=len(graph.branches))
    column_of, n_columns = shared_columns(graph, lengths)
    ends = np.flatnonzero(column_of >= 0)
    longest = max(
        float(lengths.max()), *(float(np.nanmax(graph.distances_from(int(end))[ends], initial=0.0)) for end in ends)
    )
    branch, along = TreeBasis(graph, (), 0).along(position)
    splines = []
    for b, path in enumerate(graph.branches):
        at = along[branch == b]
        n_own = len(np.unique(at)) // _MIN_POINTS  # coefficients that the branch's points can tell
        n_pieces = max(1, round((n_knots - 1) * float(lengths[b]) / longest)) if longest > 0 else 1
        inner = _quantiles(at, float(lengths[b]), min(n_pieces, max(1, n_own - 1)))
        degree = int(np.clip(n_own - len(inner) + 1, 1, _DEGREE))
        n_inner = len(inner) + degree - 1
        own = np.arange(n_columns, n_columns + n_inner)
        n_columns += n_inner
        columns = np.r_[column_of[path[0]], own, column_of[path[-1]]]
        splines.append(BranchSpline(float(lengths[b]), degree, np.r_[0.0, inner, lengths[b]], columns))
    return TreeBasis(graph, tuple(splines), n_columns)


def shared_columns(graph: Graph, lengths: np.ndarray) -> tuple[np.ndarray, int]:
    """Column of each node at which branches end, else -1, (n_nodes,), and the number of columns.

    Nodes at the two ends of a branch without length are one place and share a column.
    """
    place = np.arange(graph.n_nodes)
    for path, length in zip(graph.branches, lengths, strict=True):
        if not length > 0:
            place[place == place[path[-1]]] = place[path[0]]
    ends = np.unique([end for path in graph.branches for end in (path[0], path[-1])])
    places, column = np.unique(place[ends], return_inverse=True)
    column_of_node = np.full(graph.n_nodes, -1)
    column_of_node[ends] = column
    return column_of_node, len(places)


def _quantiles(at: np.ndarray, length: float, n_pieces: int) -> np.ndarray:
    """Knots strictly within a branch that part its points into pieces of equal numbers."""
    if n_pieces < 2 or not len(at):
        return np.empty(0)
    inner = np.unique(np.quantile(at, np.arange(1, n_pieces) / n_pieces))
    margin = 1e-6 * length
    return inner[(inner > margin) & (inner < length - margin)]
