from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from anndata import AnnData
from scipy import sparse

from skeltraj import core
from skeltraj._docs import shared_texts
from skeltraj._keys import Param
from skeltraj.core._runtime import check
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.threads import interruptible
from skeltraj.tl._fitting.fit_and_store import learn
from skeltraj.tl._inputs.pick import entry, pick


@interruptible()
@as_declared
@shared_texts
def spl(
    adata: AnnData,
    n_components: int | float = 2,
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    gamma: float = 1e-3,
    C: float = 1e3,
    n_neighbors: int = 10,
    neighbors: str | np.ndarray | sparse.spmatrix | None = None,
    scale: float | Literal["auto"] = "auto",
    center: bool = True,
    solver: Literal["quasi-newton", "subgradient"] = "quasi-newton",
    max_iter: int = 10_000,
    tol: float = 1e-6,
    rng: int | np.random.Generator = 0,
    key_added: str = "spl",
    progress: bool | None = None,
    copy: bool = False,
) -> AnnData | None:
    """Learn a sparse similarity on a neighbour graph together with a projection of the cells (SPL, Wang).

    For up to about 10,000 cells.

    Parameters
    ----------
    <adata>
    <n_components>
    <use_rep_layer>
    gamma
        Weight of the projection, >= 0. With 0, only distances between neighbours count; a small value preserves the
        shape of the data. With more than 0, sparse data are made dense as a whole.
    C
        Penalty on distances between neighbours that grow; inf: none may grow.
    n_neighbors
        Number of neighbours of each cell in the graph.
    neighbors
        The graph instead: a key in `obsp` (such as "connectivities"), a sparse matrix, (n_obs, n_obs), or numbers of
        each cell's neighbours, (n_obs, k).
    scale
        Unit of length for the problem. "auto": the root of ``phi_10 n_obs / n_components``, with the median squared
        distance of a cell to its 10th neighbour (of n < 200 cells: the n // 20-th, at least the 2nd). 1 is the paper's
        problem for the data as given.
    <center>
    solver
        "quasi-newton", or the paper's "subgradient", for comparison.
    <max_steps_tol>
    <rng_unused>
    <storing>

    Returns
    -------
    None, or with ``copy=True`` the copy. Sets the following fields (for ``key_added="spl"``):

    ``.obsm["X_spl"]`` : array, float64, (n_obs, n_components)
        The cells in the embedding.
    ``.obsp["spl_similarity"]`` : CSR matrix, float64, (n_obs, n_obs)
        Learned similarities, symmetric, on the edges of the graph.
    ``.obsm["spl_assignment"]`` : CSR matrix, float64, (n_obs, n_obs)
        Each cell is its own node.
    ``.uns["spl"]`` : dict
        <stored>,
        <stored_similarity>

    <errors_similarity>

    Examples
    --------
    >>> import skeltraj as st
    >>> adata = st.datasets.zigzag(150)
    >>> st.tl.spl(adata)
    >>> adata.obsm["X_spl"].shape, adata.obsp["spl_similarity"].shape
    ((150, 2), (150, 150))
    >>> st.tl.order(adata, {"place": "min"}, key="spl")
    >>> bool(adata.obs["spl_pseudotime"].corr(adata.obs["place"], "spearman") > 0.99)
    True
    """
    check.generator(rng)
    source = pick(adata, use_rep, layer)
    joined: Any = neighbors
    if isinstance(neighbors, str):
        joined = entry(adata, "obsp", neighbors, "neighbors")
        source = replace(source, recorded=source.recorded | {Param.NEIGHBORS: neighbors})
    return learn(
        "spl",
        lambda shown: core.spl(
            source.matrix,
            n_components,
            gamma=gamma,
            C=C,
            n_neighbors=n_neighbors,
            neighbors=joined,
            scale=scale,
            center=center,
            solver=solver,
            max_iter=max_iter,
            tol=tol,
            callback=shown,
            name=source.name,
        ),
        adata,
        source,
        key_added=key_added,
        progress=progress,
        copy=copy,
    )
