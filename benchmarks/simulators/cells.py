"""Simulated counts as AnnData, with the truth as the trajectory benchmark keeps it."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pandas as pd
from scipy import sparse

from simulators.nuisances import Disturbance
from simulators.random_trees import Places, Tree


def streams(seed: int) -> list[np.random.Generator]:
    """Generators for tree and cells, genes, counts, nuisances: what one draws does not move the others."""
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(4)]


def annotated(counts: np.ndarray, tree: Tree, places: Places, disturbed: Disturbance, name: str) -> ad.AnnData:
    """Counts in ``X`` and ``layers["counts"]``; the truth in ``uns["truth"]``.

    ``uns["truth"]`` holds the tree (``from``, ``to``, ``length``), where cells lie (``edge``, ``fraction``,
    ``pseudotime``: the distance from the root), ``milestones``, ``milestone_percentages`` (cells, milestones; rows sum
    to 1) and ``start_cell``, the one nearest to the root. In ``obs`` stand ``true_branch``, ``true_pseudotime``,
    ``true_phase`` and ``batch``.
    """
    depth = {tree.edges[0][0]: 0.0}
    for (parent, child), length in zip(tree.edges, tree.lengths, strict=True):
        depth[child] = depth[parent] + length
    names = sorted(depth)
    ends = np.array([[names.index(parent), names.index(child)] for parent, child in tree.edges])
    pseudotime = np.array([depth[parent] for parent, _ in tree.edges])[places.edge]
    pseudotime += places.fraction * tree.lengths[places.edge]
    n = len(pseudotime)
    shares = np.zeros((n, len(names)))
    shares[np.arange(n), ends[places.edge, 0]] = 1 - places.fraction
    shares[np.arange(n), ends[places.edge, 1]] += places.fraction

    obs = pd.DataFrame(index=[f"cell{i}" for i in range(n)])
    obs["true_branch"] = pd.Categorical([" to ".join(tree.edges[edge]) for edge in places.edge])
    obs["true_pseudotime"], obs["true_phase"] = pseudotime, disturbed.phase
    obs["batch"] = pd.Categorical(disturbed.batch.astype(str))
    var = pd.DataFrame(index=[f"gene{i}" for i in range(counts.shape[1])])
    cells = ad.AnnData(sparse.csr_matrix(counts.astype(np.float32)), obs=obs, var=var)
    cells.layers["counts"] = cells.X.copy()
    cells.uns["truth"] = {
        "from": np.array([parent for parent, _ in tree.edges]),
        "to": np.array([child for _, child in tree.edges]),
        "length": tree.lengths,
        "edge": places.edge,
        "fraction": places.fraction,
        "pseudotime": pseudotime,
        "milestones": np.array(names),
        "milestone_percentages": shares,
        "start_cell": int(np.argmin(pseudotime)),
    }
    cells.uns["simulation"] = {"simulator": name}
    return cells
