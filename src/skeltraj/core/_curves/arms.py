"""The arms of a skeleton beyond a fork, laid beside one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from skeltraj._printing import Printed
from skeltraj.core._graph.graph import Graph
from skeltraj.core._graph.position import Position

from .design import Design, make_design
from .tree_basis import BranchSpline, LocalRows

Align = Literal["pseudotime", "fraction"]
_DEGREE = 3
_MIN_POINTS = 10  # points of the smallest arm for each coefficient of its own; chosen by eye
_MAX_KNOTS = 2  # within an arm


class FewPointsError(ValueError):
    """An arm has too few points to be compared."""


@dataclass(frozen=True, eq=False, repr=False)
class Arms(Printed):
    """The arms beyond a fork, away from the root, each identified by its first edge.

    Parameters
    ----------
    fork
        The node.
    branch
        Branch with which each arm begins, (n_arms,), in the order of ``graph.branches``.
    start
        Pseudotime of the fork.
    length
        Path length from the fork to the farthest node of each arm, (n_arms,).
    arm
        Arm of each point that is compared, else -1, (n,).
    along
        How far each point lies along its arm, (n,), from 0 at the fork to 1 where the comparison ends.
    stretch
        Path length over which each arm is compared, (n_arms,).
    """

    fork: int
    branch: np.ndarray
    start: float
    length: np.ndarray
    arm: np.ndarray
    along: np.ndarray
    stretch: np.ndarray

    @property
    def used(self) -> np.ndarray:
        """Which points are compared, boolean, (n,)."""
        return self.arm >= 0


def arms_of(
    graph: Graph, position: Position, root: int, fork: int, used: np.ndarray, align: Align = "pseudotime"
) -> Arms:
    """The arms beyond a fork and the points on them that are compared.

    Parameters
    ----------
    graph, position
        Skeleton without loops, and the points on it.
    root, fork
        Nodes; the root may be the fork itself.
    used
        Points that may be compared, boolean, (n,).
    align
        "pseudotime": at equal distance from the fork, as far as the shortest arm reaches. "fraction": at equal shares
        of the way to the end of each arm.

    Raises
    ------
    ValueError
        If the node is no fork away from the root, the skeleton has loops, or an arm has too few points.
    """
    if graph.n_loops:
        raise ValueError(f"the skeleton has {graph.n_loops} loop(s), so arms beyond a fork meet again; wanted a tree.")
    from_root, from_fork = graph.distances_from(root), graph.distances_from(fork)
    if not np.isfinite(from_root[fork]):
        raise ValueError(f"no path leads from the root, node {root}, to node {fork}.")
    _, parent = graph.breadth_first(root)
    first = [int(node) for node in graph.neighbors(fork) if parent[node] == fork]
    if len(first) < 2:
        raise ValueError(f"node {fork} has {len(first)} branch(es) away from the root; wanted at least two.")
    arm_of_node = _beyond(graph, fork, first)
    if graph.degree[fork] == 2:
        within = graph.branch_of_edge[graph.edges_along(np.array([fork, first[0]]))[0]]
        raise ValueError(f"node {fork} is no fork but lies within branch {graph.branch_names[within]}; wanted a fork.")
    number = {node: graph.branch_of_edge[graph.edges_along(np.array([fork, node]))[0]] for node in first}
    order = np.argsort([number[node] for node in first], kind="stable")
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    arm_of_node = np.where(arm_of_node >= 0, rank[arm_of_node], -1)

    ends = graph.edges[position.edge]
    nearer = from_fork[ends[:, 0]] <= from_fork[ends[:, 1]]
    outer = np.where(nearer, ends[:, 1], ends[:, 0])
    arm = arm_of_node[outer]
    if position.alone is not None:
        arm = np.where(position.alone < 0, arm, -1)
    distance = position.distances_from(graph, fork)
    length = np.array([np.max(from_fork[arm_of_node == a], initial=0.0) for a in range(len(first))])
    stretch = np.full(len(first), length.min()) if align == "pseudotime" else length
    along = np.divide(distance, stretch[arm], out=np.zeros(len(arm)), where=(arm >= 0) & (stretch[arm] > 0))
    arm = np.where((arm >= 0) & (along <= 1 + 1e-9), arm, -1)
    arm = np.where((arm >= 0) & (distance > 0) & used, arm, -1)  # points at the fork itself belong to no arm
    counts = np.bincount(arm[arm >= 0], minlength=len(first))
    branch = np.array([number[first[i]] for i in order])
    if counts.min() < _MIN_POINTS:
        few = int(counts.argmin())
        whole = " align='fraction' compares whole arms." if align == "pseudotime" else ""
        raise FewPointsError(
            f"fork {graph.node_names.get(fork, fork)}: the arm that begins with branch "
            f"{graph.branch_names[branch[few]]} has {counts[few]} points to compare; wanted at least {_MIN_POINTS}."
            f"{whole}"
        )
    return Arms(fork, branch, float(from_root[fork]), length, arm, np.clip(along, 0.0, 1.0), stretch)


def _beyond(graph: Graph, fork: int, first: list[int]) -> np.ndarray:
    """For each node the place in `first` of the neighbour of the fork by way of which it is reached, else -1."""
    order, parent = graph.breadth_first(fork)
    arm = np.full(graph.n_nodes, -1)
    for node in order[1:]:
        arm[node] = first.index(int(node)) if parent[node] == fork and int(node) in first else arm[parent[node]]
    return arm


@dataclass(frozen=True, eq=False, repr=False)
class ArmBasis:
    """Splines along arms that begin with one value at the fork, all with the same knots.

    Parameters
    ----------
    spline
        Along one arm, from 0 to 1; its columns are those of the first arm.
    n_arms
        Number of arms.
    """

    spline: BranchSpline
    n_arms: int

    @property
    def n_own(self) -> int:
        """Coefficients of each arm beside the one at the fork."""
        return len(self.spline.columns) - 1

    @property
    def n_columns(self) -> int:
        """Number of coefficients: the one at the fork, then those of each arm."""
        return 1 + self.n_arms * self.n_own

    def rows(self, arm: np.ndarray, along: np.ndarray) -> LocalRows:
        """The basis at places along arms, (n,) each."""
        values = self.spline.rows(along)
        width = self.spline.degree + 1
        first = np.minimum((values != 0).argmax(axis=1), values.shape[1] - width)
        taken = first[:, None] + np.arange(width)
        index, value = np.zeros((len(arm), _DEGREE + 1), dtype=np.int64), np.zeros((len(arm), _DEGREE + 1))
        index[:, :width] = np.where(taken > 0, taken + (arm * self.n_own)[:, None], 0)
        value[:, :width] = np.take_along_axis(values, taken, axis=1)
        return LocalRows(index, value, self.n_columns)

    def shared(self) -> np.ndarray:
        """Coefficients of the curves that are the same in all arms, (n_columns, n_own + 1)."""
        one = np.eye(self.n_own + 1)
        return np.vstack([one[:1], *[one[1:]] * self.n_arms])

    def roughness(self) -> np.ndarray:
        """Integral over the arms of the squared slope, as a quadratic form of the coefficients."""
        own = self.spline.roughness()
        total = np.zeros((self.n_columns, self.n_columns))
        for a in range(self.n_arms):
            columns = np.r_[0, 1 + a * self.n_own + np.arange(self.n_own)]
            total[np.ix_(columns, columns)] += own
        return total


def arm_basis(arms: Arms) -> ArmBasis:
    """Knots for arms: at quantiles of the points on all of them, as many as the smallest bears."""
    smallest = np.bincount(arms.arm[arms.used]).min()
    n_own = int(smallest) // _MIN_POINTS
    inner = np.empty(0)
    n_inner = int(np.clip(n_own - _DEGREE, 0, _MAX_KNOTS))
    if n_inner:
        at = np.unique(np.quantile(arms.along[arms.used], np.arange(1, n_inner + 1) / (n_inner + 1)))
        inner = at[(at > 1e-6) & (at < 1 - 1e-6)]
    degree = int(np.clip(n_own - len(inner), 1, _DEGREE))
    knots = np.r_[0.0, inner, 1.0]
    return ArmBasis(BranchSpline(1.0, degree, knots, np.arange(len(knots) + degree - 1)), len(arms.branch))


def arm_design(basis: ArmBasis, arms: Arms, points: np.ndarray, covariates: np.ndarray | None, smooth: float) -> Design:
    """Curves of their own for all arms, at some points, tested against one curve for all."""
    rows = basis.rows(arms.arm[points], arms.along[points])
    return make_design(rows, covariates, basis.shared(), basis.roughness(), smooth)
