"""Cells of which everything is stored that a page can show, with names that a page must not take for its own."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from samples import cells
from skeltraj import tl

SCRIPT = "<script>document.title = 'taken'</script>"
CLOSING = "\"'></style></td></script><img src=x onerror=\"document.title = 'taken'\">"
ARABIC = "شجرة 🌳 $x_"
LONG = "a very long name " * 12
NASTY = [SCRIPT, CLOSING, ARABIC, LONG]


def studied(n=90):
    """Cells on three arms with every result; groups "stage" of plain names and "group" of nasty ones."""
    adata = cells(n, n_features=5)
    rng = np.random.default_rng(0)
    adata.var_names = ["gene0", *NASTY]
    adata.obs_names = [f"{SCRIPT}{i}" for i in range(n)]
    adata.obs["group"] = pd.Categorical(np.array(NASTY)[rng.integers(0, 4, n)])
    adata.obs["time"], adata.obs["event"] = rng.exponential(size=n), rng.random(n) < 0.6
    adata.obsm["X_umap"] = adata.X[:, :2].copy()
    tl.ddrtree(adata, 3, n_nodes=14, denoise=False, n_starts=1)
    tl.order(adata, {"stage": "stem"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few samples
        tl.composition(adata, "group", n_permutations=19)
        tl.association(adata)
        tl.association(adata, columns=["place"])
        tl.branch_test(adata)
        tl.trends(adata)
        tl.survival(adata, "time", "event", covariates=["place"])
        tl.stability(adata, n_replicates=2)
        tl.direction(adata, score="place")
    return adata
