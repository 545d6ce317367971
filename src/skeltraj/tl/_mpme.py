from __future__ import annotations

from typing import Literal

import numpy as np
from anndata import AnnData

from skeltraj import core
from skeltraj._docs import shared_texts
from skeltraj.core._runtime import check
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.threads import interruptible
from skeltraj.tl._fitting.fit_and_store import learn
from skeltraj.tl._inputs.pick import pick


@interruptible()
@as_declared
@shared_texts
def mpme(
    adata: AnnData,
    n_components: int | float = 2,
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    kernel: str | None = None,
    distances: str | None = None,
    lam: float | Literal["auto"] = "auto",
    C: float = np.inf,
    embed: Literal["kpca", "laplacian"] = "kpca",
    solver: Literal["candidates", "lbfgs-all-pairs"] = "candidates",
    n_neighbors: int = 6,
    max_iter: int = 10_000,
    tol: float = 1e-6,
    rng: int | np.random.Generator = 0,
    key_added: str = "mpme",
    progress: bool | None = None,
    copy: bool = False,
) -> AnnData | None:
    """Learn a sparse similarity of the cells over all pairs, and embed them by it (MPME, Machine Learning 2017).

    For up to about 10,000 cells.

    Parameters
    ----------
    <adata>
    <n_components>
    <use_rep_layer>
    <kernel>
    distances
        Key in `obsp` of squared distances between all cells, dense, to take instead.
    lam
        Precision of the prior, in units of one over squared distances: larger values let only nearer cells be similar,
        and separate the cells. "auto": ``n_components / (n_obs phi_10)``, with the median squared distance of a cell to
        its 10th neighbour (of n < 200 cells: the n // 20-th, at least the 2nd).
    C
        Penalty on distances that grow: similarities are at most 4 C. Larger values give a sparser graph and a smoother
        skeleton.
    embed
        "kpca": kernel PCA on the inverse of the learned matrix; "laplacian": Laplacian eigenmaps of the similarity.
    solver
        "candidates", or the paper's "lbfgs-all-pairs", slow, for comparison.
    n_neighbors
        Number of neighbours among which the first candidates are searched; the result does not depend on it.
    <max_steps_tol>
    <rng_unused>
    <storing>

    Returns
    -------
    None, or with ``copy=True`` the copy. Sets the following fields (for ``key_added="mpme"``):

    ``.obsm["X_mpme"]`` : array, float64, (n_obs, n_components)
        The cells in the embedding.
    ``.obsp["mpme_similarity"]`` : CSR matrix, float64, (n_obs, n_obs)
        Learned similarities, symmetric; few are not zero.
    ``.obsm["mpme_assignment"]`` : CSR matrix, float64, (n_obs, n_obs)
        Each cell is its own node.
    ``.uns["mpme"]`` : dict
        <stored>,
        <stored_similarity>

    <errors_similarity>
        Also if cells are identical, or nearly so, with ``C=inf``: a large finite C is then used.

    Examples
    --------
    >>> import skeltraj as st
    >>> adata = st.datasets.spiral(150)
    >>> st.tl.mpme(adata)
    >>> adata.obsm["X_mpme"].shape, adata.obsp["mpme_similarity"].shape
    ((150, 2), (150, 150))
    >>> # how far the maximum may be at most
    >>> adata.uns["mpme"]["certificate"]["duality_gap"] < 1e-3
    True
    >>> st.tl.order(adata, {"place": "min"}, key="mpme")
    >>> bool(adata.obs["mpme_pseudotime"].corr(adata.obs["place"], "spearman") > 0.99)
    True
    """
    check.generator(rng)
    source = pick(adata, use_rep, layer, kernel, distances=distances)
    return learn(
        "mpme",
        lambda shown: core.mpme(
            None if distances is not None else source.matrix,
            n_components,
            distances=None if distances is None else source.matrix,
            kernel=None if kernel is None else "precomputed",
            lam=lam,
            C=C,
            embed=embed,
            solver=solver,
            n_neighbors=n_neighbors,
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
