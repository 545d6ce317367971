"""A round of DDRTree (KDD 2015, Algorithm 2): loadings, nodes and embedding, then the tree and the assignment."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skeltraj.core._data.space import Space
from skeltraj.core._geometry.assign import node_index
from skeltraj.core._geometry.near_nodes import near_nodes
from skeltraj.core._geometry.spanning_tree import spanning_tree

from .kept import Kept
from .leading import leading
from .node_system import Blocks, NodeSystem, factorised, prefer_direct
from .sweep import Sweep, SweepSums

# Strides of the extrapolation: the first, by what it grows with every success, the longest. Found by trial; what they
# bring is measured by benchmarks/rounds.py.
FIRST_STRIDE, _STRIDE_GROWTH, _LONGEST_STRIDE = 0.5, 1.4, 3.0
LEAST_CHANGE = 1e-4  # relative change of the objective below which rounds are the published ones; by trial


@dataclass(frozen=True)
class State:
    """Where a fit stands: loadings and nodes with the best tree and assignment for them."""

    loadings: np.ndarray  # W
    nodes: np.ndarray  # C
    edges: np.ndarray  # B
    kept: Kept  # R and Z; overwritten by the next round
    sums: SweepSums
    objective: float
    stride: float = 0.0  # how far to go beyond the next update, as a share of it


@dataclass(frozen=True)
class Problem:
    """Which objective is minimised, over which rows.

    Parameters
    ----------
    space
        The rows.
    lam, sigma, gamma
        Of the objective.
    least_weight
        Of the assignment: weights below that share of their row's largest are left out.
    least_change
        Relative change of the objective below which nothing is extrapolated.
    """

    space: Space
    lam: float
    sigma: float
    gamma: float
    least_weight: float
    least_change: float

    def begin(self, W: np.ndarray, C: np.ndarray, kept: Kept) -> State:
        """The best tree and assignment for a start."""
        # how the first system is solved depends on the number of entries of R: ten for each row are assumed
        return self.measure(W, C, kept, 10 * self.space.rows.n_obs)

    def round(self, state: State) -> State:
        """One round of Algorithm 2: W, C and Z for the tree and assignment at hand, then tree and assignment."""
        W, C, turn = self.update(state)
        n_weights = state.sums.n_weights
        if state.stride > 0:
            before = state.kept.copy()
            farther = C + state.stride * (C - state.nodes @ turn)
            trial = self.measure(W, farther, state.kept, n_weights)
            gain = state.objective - trial.objective
            if gain > self.least_change * abs(trial.objective):
                return replace(trial, stride=min(_LONGEST_STRIDE, _STRIDE_GROWTH * state.stride))
            # The step failed, or gains little by now. Steps beyond the update leave small spurs in the tree that the
            # objective hardly feels, so the last rounds are the published ones.
            state = replace(state, kept=before, stride=FIRST_STRIDE if gain < 0 else 0.0)
        new = self.measure(W, C, state.kept, n_weights)
        return replace(new, stride=state.stride)

    def update(self, state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """W and C for the tree and assignment at hand, and what turns the old loadings to the new ones, (d, d)."""
        # Proposition 3. X'QX = (X'X + gamma (R'X)' T^-1 R'X) / (1 + gamma), so Q, (n_obs, n_obs), is never formed.
        sums = state.sums
        system = (sums.mass, sums.gathered, state.edges, self.lam, self.gamma)
        factor = None if sums.overlap is None else factorised(sums.overlap, *system)
        if factor is not None:
            half = factor.half.T
            W = self.space.moment.plus(self.gamma * half, half).top(state.nodes.shape[1])[1]
            C = factor.nodes(W)
        else:
            W, C = leading(self.space.moment, NodeSystem(self._assignment(state), *system), state.loadings, state.nodes)
        turn = state.loadings.T @ W
        # eigenvectors have no sign of their own: that of the last round is kept
        signs = np.where(np.diagonal(turn) < 0, -1.0, 1.0)
        W, C, turn = W * signs, C * signs, turn * signs
        if self.lam == 0:  # nodes without rows stay where they are
            free = sums.mass == 0
            C[free] = state.nodes[free] @ turn
        return W, C, turn

    def _assignment(self, state: State) -> Blocks:
        """R, to take products with."""
        if state.kept.always_direct:
            raise ValueError(
                f"lam={self.lam:g} with gamma={self.gamma:g} is out of what double precision can solve for a dask "
                "array; wanted smaller, or data in memory."
            )
        return state.kept.entries()

    def measure(self, W: np.ndarray, C: np.ndarray, kept: Kept, n_weights: int) -> State:
        """The best tree and assignment, and the sums over the rows that the next round needs, in one pass."""
        rows = self.space.rows
        edges = spanning_tree(C)
        direct = kept.always_direct or prefer_direct(
            len(C), rows.n_features, C.shape[1], n_weights, rows.n_obs, self.lam, self.gamma
        )
        near = near_nodes(C, self.sigma, rows.n_obs, self.least_weight)
        sums = kept.sweep(Sweep(W, C, self.sigma, self.gamma, direct, node_index(C), near, self.least_weight))
        # eq. 9, with ||X - Z W'||^2 = ||X||^2 - ||X W||^2 + ||X W - Z||^2
        length = float(np.sum((C[edges[:, 0]] - C[edges[:, 1]]) ** 2))
        objective = self.space.total - sums.kept + sums.moved + self.lam * length + self.gamma * sums.quantisation
        return State(W, C, edges, kept, sums, objective)
