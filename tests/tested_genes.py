"""Cells with counts on a tree with two forks that was made by hand."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pandas as pd

from samples import by_hand
from skeltraj import tl
from two_forks import TWO_FORKS

GENES = ["rise", "arm", "late", "flat0", "flat1", "flat2", "flat3", "zero"]


def cells_on_two_forks(n=400, seed=0):
    """Counts in `X`, ordered from node 0.

    "rise" rises all along, "arm" falls on the way to T2 (node 4), "late" rises towards T3 (node 7), "zero" is 0.
    """
    rng = np.random.default_rng(seed)
    edge = rng.integers(0, 7, n)
    ends = TWO_FORKS.nodes[TWO_FORKS.edges]
    points = ends[edge, 0] + rng.random((n, 1)) * (ends[edge, 1] - ends[edge, 0])
    of_tree = by_hand(TWO_FORKS.nodes, TWO_FORKS.edges, points)
    x, y = points.T
    eta = np.tile(np.log([3.0, 4, 2, 1, 2, 5, 0.3, 1]), (n, 1))
    eta[:, 0] += 0.8 * (x + np.abs(y)) - 1.5
    eta[:, 1] -= 1.2 * np.clip(y, 0, None) * (x < 2.5)
    eta[:, 2] += 2 * np.clip(-y, 0, None)
    factors = np.exp(rng.normal(0, 0.4, n))
    mean = factors[:, None] * np.exp(eta)
    counts = rng.poisson(mean * rng.gamma(5, 0.2, mean.shape)).astype(np.float32)
    counts[:, -1] = 0
    adata = ad.AnnData(counts, obs=pd.DataFrame(index=[f"c{i}" for i in range(n)]), var=pd.DataFrame(index=list(GENES)))
    adata.var["symbol"] = [name.upper() for name in GENES]
    adata.var["chosen"] = [name in ("rise", "flat0", "late") for name in GENES]
    adata.obsm.update(of_tree.obsm)
    adata.uns.update(of_tree.uns)
    adata.obs["factor"] = factors
    adata.obs["score"] = x + 0.3 * rng.standard_normal(n)
    adata.obs["grade"] = pd.Categorical(np.array(["low", "mid", "high"])[rng.integers(0, 3, n)], ordered=True)
    adata.obs["grade"] = adata.obs["grade"].cat.reorder_categories(["low", "mid", "high"])
    adata.obs["mutated"] = rng.random(n) < 1 / (1 + np.exp(2 - x))
    adata.obs["batch"] = pd.Categorical(np.array(["a", "b", "c"])[rng.integers(0, 3, n)])
    tl.order(adata, root=0)
    return adata
