"""A tree of smooth curves from which cells depart by Gaussian noise, its branches given: fitted by EM.

Not a method of the package: `ceiling.py` asks of it whether the likelihood tells the better of two trees of the same
cells. The curves are those of Tibshirani (1992), one for each branch, continuous at forks: a cell lies anywhere on the
tree with the same probability, and its measurements depart from there by noise of one covariance. Curves are stiff, by
a penalty on their second derivatives, so that they cannot follow what is noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from skeltraj import core

N_NODES = 60
STIFFNESS = 3e-3  # beside the errors of all cells, lengths in units of `fitted`
SHRUNK = 0.5  # the share of equal noise in the covariance
N_ROUNDS = 30


@dataclass
class Curves:
    """Curves as nodes along branches.

    Parameters
    ----------
    nodes
        Their coordinates, (n_nodes, n_components).
    paths
        Of each branch, the numbers of its nodes in order; branches share nodes at forks.
    """

    nodes: np.ndarray
    paths: list[np.ndarray]

    @property
    def edges(self):
        """Pairs of nodes along the branches, (n_edges, 2)."""
        return np.concatenate([np.column_stack([path[:-1], path[1:]]) for path in self.paths])

    def respaced(self, n_nodes):
        """The same curves with about so many nodes, evenly along them."""
        ends = np.unique([path[[0, -1]] for path in self.paths])
        lengths = [np.linalg.norm(np.diff(self.nodes[path], axis=0), axis=1) for path in self.paths]
        total = sum(length.sum() for length in lengths)
        nodes, paths, n = [self.nodes[ends]], [], len(ends)
        for path, length in zip(self.paths, lengths, strict=True):
            n_more = max(2, round(n_nodes * length.sum() / total)) - 1
            at = np.append(0, np.cumsum(length))
            wanted = np.linspace(0, at[-1], n_more + 2)[1:-1]
            nodes.append(np.column_stack([np.interp(wanted, at, x) for x in self.nodes[path].T]))
            first, last = np.searchsorted(ends, path[[0, -1]])
            paths.append(np.concatenate([[first], np.arange(n, n + n_more), [last]]))
            n += n_more
        return Curves(np.concatenate(nodes), paths)

    def shares(self):
        """Of each node, the share of the length of all curves that is nearest to it, (n_nodes,)."""
        edges = self.edges
        length = np.linalg.norm(self.nodes[edges[:, 0]] - self.nodes[edges[:, 1]], axis=1)
        half = np.bincount(edges.ravel(), np.repeat(length, 2), minlength=len(self.nodes))
        return half / half.sum()

    def roughness(self):
        """The matrix P of the integral of the squared second derivatives, ``tr(F' P F)`` for nodes F."""
        P = np.zeros((len(self.nodes), len(self.nodes)))
        for path in self.paths:
            step = np.linalg.norm(np.diff(self.nodes[path], axis=0), axis=1).mean()
            for i in range(1, len(path) - 1):
                three = path[i - 1 : i + 2]
                P[np.ix_(three, three)] += np.outer([1, -2, 1], [1, -2, 1]) / step**3
        return P


def fitted(points, begin, unit):
    """Curves fitted to points as measured, the covariance of the noise, and the log-likelihood of a cell.

    Parameters
    ----------
    points
        (n_cells, n_components).
    begin
        A `core.Graph` in the same space: its branches are those of the curves, which begin where it lies.
    unit
        A length that goes with the size of the tree.

    Returns
    -------
    The curves; the covariance, (n_components, n_components); and the mean of the cells' log-likelihoods less the
    penalty, without the constant of the normal density.
    """
    n, d = points.shape
    stiff = STIFFNESS * n * unit**3
    curves = Curves(begin.nodes, list(begin.branches)).respaced(N_NODES)
    near = begin.nodes[begin.nearest_node(points)]
    noise = (points - near).T @ (points - near) / n
    for _ in range(N_ROUNDS):
        curves = curves.respaced(N_NODES)
        covariance = (1 - SHRUNK) * noise + SHRUNK * np.trace(noise) / d * np.eye(d)
        root = np.linalg.cholesky(covariance)
        cells, nodes = np.linalg.solve(root, points.T).T, np.linalg.solve(root, curves.nodes.T).T
        density = cells @ nodes.T - ((nodes**2).sum(axis=1) / 2 - np.log(curves.shares()))
        of_cell = logsumexp(density, axis=1)
        R = np.exp(density - of_cell[:, None])
        P = stiff * curves.roughness()
        F = np.linalg.solve(np.diag(R.sum(axis=0)) + P + 1e-9 * n * np.eye(len(P)), R.T @ points)
        penalty = np.sum(F * (P @ np.linalg.solve(covariance, F.T).T)) / (2 * n)
        likelihood = np.mean(of_cell - (cells**2).sum(axis=1) / 2) - np.log(np.diag(root)).sum() - penalty
        curves.nodes = F
        cross = (R.T @ points).T @ F
        noise = (points.T @ points - cross - cross.T + (F * R.sum(axis=0)[:, None]).T @ F) / n
    return curves, covariance, likelihood


def placed(points, curves, covariance):
    """Curves as a graph, and points, both where noise is the same in all directions."""
    root = np.linalg.cholesky(covariance)
    alike = lambda values: np.linalg.solve(root, values.T).T
    return core.Graph(alike(curves.nodes), curves.edges), alike(points)
