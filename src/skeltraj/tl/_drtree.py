from __future__ import annotations

from typing import Any, Literal

import numpy as np
from anndata import AnnData

from skeltraj import core
from skeltraj._docs import shared_texts
from skeltraj.core._runtime import check
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.threads import interruptible
from skeltraj.tl._fitting.fit_and_store import learn
from skeltraj.tl._inputs.pick import pick, start


@interruptible()
@as_declared
@shared_texts
def drtree(
    adata: AnnData,
    n_components: int | float = 2,
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    kernel: str | None = None,
    lam: float | Literal["auto"] = "auto",
    center: bool = True,
    init: Any = None,
    max_iter: int = 200,
    tol: float = 1e-5,
    rng: int | np.random.Generator = 0,
    key_added: str = "drtree",
    progress: bool | None = None,
    copy: bool = False,
) -> AnnData | None:
    """Learn an embedding in which the cells themselves form a tree by DRTree (KDD 2015).

    Parameters
    ----------
    <adata>
    <n_components>
    <use_rep_layer>
    <kernel>
    lam
        How strongly the tree is shortened. "auto": the number of cells. 0 is PCA.
    <center>
    <init>
    <max_iter_tol>
    <rng_unused>
    <storing>

    Returns
    -------
    None, or with ``copy=True`` the copy. Sets the following fields (for ``key_added="drtree"``):

    ``.obsm["X_drtree"]`` : array, float64, (n_obs, n_components)
        The cells in the embedding.
    ``.uns["drtree"]`` : dict
        <stored>,
        ``mean`` (what was subtracted), and ``loadings``
        (n_features, n_components) unless in `varm`. The nodes are the cells, (n_obs, n_components), and stay all of
        them when cells are taken out of `adata`.
    ``.varm["drtree_loadings"]`` : array, float64, (n_vars, n_components)
        Loadings of the genes, where the input was `X` or a layer.

    <errors>

    Examples
    --------
    <example_data>
    >>> st.tl.drtree(adata, 2)
    >>> adata.obsm["X_drtree"].shape
    (640, 2)
    >>> len(adata.uns["drtree"]["edges"])  # the cells themselves form the tree
    639
    """
    check.generator(rng)
    source = pick(adata, use_rep, layer, kernel)
    init = start(adata, init)
    return learn(
        "drtree",
        lambda shown: core.drtree(
            source.matrix,
            n_components,
            lam=lam,
            center=center,
            kernel=None if kernel is None else "precomputed",
            init=init,
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
