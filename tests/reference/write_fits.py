"""Write fits, and what is made of them, by the version of skeltraj that is installed, for later versions to read.

python tests/reference/write_fits.py fits_of_0.2.0.h5ad.xz
"""

import lzma
import sys
import tempfile
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd

import skeltraj as st

N = 150


def fitted():
    """A fork of three arms: two trees, each with its order, and tests, curves and survival along one."""
    rng = np.random.default_rng(0)
    arm, along = rng.integers(3, size=N), rng.random(N)
    low = np.array([[-1, 0], [0.7, 0.7], [0.7, -0.7]])[arm] * along[:, None]
    X = np.column_stack([low, 0.5 * (low**2).sum(1)]) + 0.03 * rng.normal(size=(N, 3))
    counts = rng.poisson(np.exp(1 + low @ rng.normal(size=(2, 6)))).astype("float32")
    adata = ad.AnnData(counts, obs=pd.DataFrame(index=[f"cell{i}" for i in range(N)]))
    adata.obs["stage"] = pd.Categorical(np.where((arm == 0) & (along > 0.6), "early", "late"))
    adata.obs["time"], adata.obs["event"] = rng.exponential(5, N), rng.integers(0, 2, N)
    adata.var_names = [f"g{i}" for i in range(6)]
    adata.obsm["X_pca"], adata.layers["counts"] = X.astype("float32"), counts
    st.tl.ddrtree(adata, use_rep="X_pca", n_nodes=20, prune=True)
    st.tl.order(adata, root={"stage": "early"})
    st.tl.stability(adata, n_replicates=3)
    st.tl.composition(adata, "stage", n_permutations=99)
    st.tl.association(adata, layer="counts")
    st.tl.branch_test(adata, layer="counts")
    st.tl.trends(adata, layer="counts")
    st.tl.survival(adata, time="time", event="event")
    st.tl.principal_tree(adata, use_rep="X_pca", n_nodes=12)
    st.tl.order(adata, root={"stage": "early"}, key="principal_tree")
    return adata


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "fits.h5ad")
        fitted().write_h5ad(path, compression="gzip")
        Path(sys.argv[1]).write_bytes(lzma.compress(path.read_bytes(), preset=9))
