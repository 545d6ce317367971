"""What fitted curves say: how much a response changes, where it peaks, which way it runs along each branch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skeltraj._printing import Printed
from skeltraj.core._graph.position import at_nodes

from .model import Family
from .tree_basis import LocalRows, TreeBasis

_CLEAR = 1.959964  # standard errors that a change along a branch must have to be given a sign: 5 %, two-sided


@dataclass(frozen=True, eq=False, repr=False)
class Places(Printed):
    """Places on a skeleton at which curves are looked at, as seen from a root.

    Parameters
    ----------
    basis
        The basis of the curves.
    branch, along
        Branch of each place, and how far along it, (n_places,).
    pseudotime
        Path length from the root, (n_places,).
    rows
        The basis there.
    at_root
        The basis at the root, (n_columns,).
    tips
        Tips at which lineages end, (n_lineages,).
    at_tips
        The basis at each of them, (n_lineages, n_columns).
    at_ends
        The basis at the two ends of each branch, the one nearer to the root first, (n_branches, 2, n_columns). Where
        the root is inside the branch, it takes the place of the nearer end.
    reached
        Whether a path leads from the root to each branch, (n_branches,).
    """

    basis: TreeBasis
    branch: np.ndarray
    along: np.ndarray
    pseudotime: np.ndarray
    rows: LocalRows
    at_root: np.ndarray
    tips: np.ndarray
    at_tips: np.ndarray
    at_ends: np.ndarray
    reached: np.ndarray


def places_from(basis: TreeBasis, root: int) -> Places:
    """Places at equal steps along every branch that can be reached from the root.

    On a branch with the root inside it, the place nearest to the root is moved there, where its lineages begin.
    """
    graph = basis.graph
    if graph.degree[root] == 0:
        raise ValueError(f"root={root} is a node without edges, from which no branch leads; wanted a node on one.")
    from_root = graph.distances_from(root)
    branch, along = basis.places()
    ends = np.array([[path[0], path[-1]] for path in graph.branches])
    ends = np.where((from_root[ends[:, 0]] <= from_root[ends[:, 1]])[:, None], ends, ends[:, ::-1])
    for b, path in enumerate(graph.branches):
        at = int((path == root).argmax())
        if path[at] == root and 0 < at < len(path) - 1:
            own = np.flatnonzero(branch == b)[1:-1]
            there = float(graph.edge_length[graph.edges_along(path[: at + 1])].sum())
            along[own[np.abs(along[own] - there).argmin()]] = there
            if path[0] != path[-1]:
                ends[b, 0] = root  # the other is the farther end
    pseudotime = basis.position(branch, along).distances_from(graph, root)
    reached = np.isfinite(pseudotime)
    tips = np.array([tip for tip in graph.tips if tip != root and np.isfinite(from_root[tip])], dtype=np.int64)
    at_tips = basis.rows(at_nodes(graph, np.r_[root, tips])).dense()
    return Places(
        basis=basis,
        branch=branch[reached],
        along=along[reached],
        pseudotime=pseudotime[reached],
        rows=basis.at(branch[reached], along[reached]),
        at_root=at_tips[0],
        tips=tips,
        at_tips=at_tips[1:],
        at_ends=basis.rows(at_nodes(graph, ends.ravel())).dense().reshape(len(ends), 2, -1),
        reached=np.isfinite(from_root[ends[:, 0]]),
    )


def covariances(curvature: np.ndarray, T: np.ndarray, n_columns: int) -> np.ndarray:
    """Covariances of the first `n_columns` coefficients, (g, n_columns, n_columns), where fits curve that much."""
    scale = 1 / np.sqrt(np.maximum(np.einsum("gii->gi", curvature), 1e-300))
    inverse = np.linalg.pinv(curvature * scale[:, :, None] * scale[:, None, :], rcond=1e-12, hermitian=True)
    inverse *= scale[:, :, None] * scale[:, None, :]
    local = T[:n_columns]
    return np.einsum("pa,gab,qb->gpq", local, inverse, local, optimize=True)


def heights_with_half(
    linear: np.ndarray, n: np.ndarray | float, family: Family
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fitted curves on the scale of the link, with half a count among the `n` points that each rests on.

    Of yes and no these are half a point that has it and half a point that has it not: what a region without any may
    hold. Normal values stay as they are.

    Returns
    -------
    Heights; their slopes in `linear`; and what is to be added to their variance, since that of half a count is not in
    the fit: together they make ``1 / (count + 1/2)``, the variance of a logarithm of a count with a half.
    """
    if family == "gaussian":
        return linear, np.ones_like(linear), np.zeros_like(linear)
    if family == "negative_binomial":
        mean, least = np.exp(np.minimum(linear, 40.0)), 0.5 / n
        slope = mean / (mean + least)
        return np.log(mean + least), slope, 2 * (1 - slope) ** 2
    share = 1 / (1 + np.exp(-np.clip(linear, -40.0, 40.0)))
    yes, no = share * n + 0.5, (1 - share) * n + 0.5
    spread = 1 / yes + 1 / no
    slope = share * (1 - share) * n * spread
    return np.log(yes / no), slope, (1 - slope) * spread


def heights_within_errors(linear: np.ndarray, errors: np.ndarray, n: float, family: Family) -> np.ndarray:
    """The same heights of curves that are some errors away on the scale of the link, as are drawn for an interval.

    Errors are added where they hardly depend on the mean, to the root of a count and the angle of a share: those of
    logarithms have no end where there is no count, so that curves would be anywhere.
    """
    if family == "gaussian":
        return linear + errors
    if family == "negative_binomial":
        mean, least = np.exp(np.minimum(linear, 40.0)), 0.5 / n
        root = np.sqrt(mean + least) + np.sqrt(mean) * errors / 2
        return 2 * np.log(np.maximum(root, np.sqrt(least)))
    share = 1 / (1 + np.exp(-np.clip(linear, -40.0, 40.0)))
    none, all_of_them = (np.arcsin(np.sqrt(few / (n + 1))) for few in (0.5, n + 0.5))
    angle = np.arcsin(np.sqrt((share * n + 0.5) / (n + 1))) + np.sqrt(share * (1 - share)) * errors / 2
    return 2 * np.log(np.tan(np.clip(angle, none, all_of_them)))


def signs_over_branches(
    linear: np.ndarray, change: np.ndarray, errors: np.ndarray, n: np.ndarray, family: Family
) -> np.ndarray:
    """Sign of the change over each branch, (g, n_branches), 0 where it is within 1.96 standard errors of none.

    Where a fit has hardly a count at one end, its height there and the error of that run away together, so that no
    change would be clear, however large. With half a count added neither does.

    Parameters
    ----------
    linear
        Fitted curves on the scale of the link at the first and the last end of each branch, (g, 2 n_branches).
    change
        Their differences, (g, n_branches).
    errors
        Standard errors of the differences, of the curves at first ends, and of those at last ends, (g, 3 n_branches).
    n
        How many points tell of each end, as `linear`.
    family
        Of the responses.
    """
    by_half, error = changes_with_half(linear, change, errors, n, family)
    return np.where(np.abs(by_half) > _CLEAR * error, np.sign(by_half), 0).astype(np.int8)


def changes_with_half(
    linear: np.ndarray, change: np.ndarray, errors: np.ndarray, n: np.ndarray | float, family: Family
) -> tuple[np.ndarray, np.ndarray]:
    """Changes between two places, of `heights_with_half`, and their standard errors, (g, n_pairs) each.

    Parameters as those of `signs_over_branches`, with pairs of places for the ends of branches.
    """
    height, slope, more = heights_with_half(linear, np.maximum(n, 1e-300), family)
    by_half = height - linear
    change = change + by_half[:, 1::2] - by_half[:, ::2]
    of_change, of_first, of_last = np.split(errors**2, 3, axis=1)
    first, last = slope[:, ::2], slope[:, 1::2]
    variance = first * last * of_change + (last - first) * (last * of_last - first * of_first)
    return change, np.sqrt(np.maximum(variance + more[:, ::2] + more[:, 1::2], 0.0))
