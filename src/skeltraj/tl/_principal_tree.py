from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from anndata import AnnData

from skeltraj import core
from skeltraj._docs import shared_texts
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.threads import interruptible
from skeltraj.tl._fitting.fit_and_store import learn
from skeltraj.tl._inputs.pick import pick, warn_if_wide


@interruptible()
@as_declared
@shared_texts
def principal_tree(
    adata: AnnData,
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    denoise: int | bool | Mapping[str, int | Literal["auto"]] | Literal["auto"] = "auto",
    n_nodes: int | Literal["auto", "all"] | None = "auto",
    gamma: float | Literal["auto"] = "auto",
    sigma: float | Literal["auto"] = "auto",
    assignment: Literal["soft", "hard"] = "soft",
    init: np.ndarray | None = None,
    max_iter: int = 200,
    tol: float = 1e-5,
    n_starts: int | Literal["auto"] = "auto",
    prune: bool | Mapping[str, float] | Literal["auto"] = "auto",
    rng: int | np.random.Generator = 0,
    key_added: str = "principal_tree",
    progress: bool | None = None,
    copy: bool = False,
) -> AnnData | None:
    """Learn a tree of nodes in the space of the input: SimplePPT, the principal tree of TPAMI 2017.

    Parameters
    ----------
    <adata>
    <use_rep_layer>
    <denoise>
    n_nodes
        Number of nodes of the tree. "auto": about 100, growing slowly with the number of cells. "all" or None: one per
        cell.
    <gamma_sigma>
    <assignment_init>
    <max_iter_tol>
    <n_starts>
    <prune>
    <rng_nodes>
    <storing>

    Returns
    -------
    None, or with ``copy=True`` the copy. Sets the following fields (for ``key_added="principal_tree"``):

    ``.obsm["X_principal_tree"]`` : array, float64, (n_obs, n_features)
        Where the tree holds each cell: the mean of the nodes, weighted by its assignment. Where the input is a dask
        array, this and the assignment are dask arrays, too.
    ``.obsm["principal_tree_assignment"]`` : CSR matrix, float64, (n_obs, n_nodes)
        Soft assignment of cells to nodes; rows sum to 1.
    ``.uns["principal_tree"]`` : dict
        <stored>,
        <stored_input>,
        <stored_more>,
        ``weights`` of the edges. The nodes are in the space of the input,
        (n_nodes, n_features); if heavy tails were compressed, they are among the compressed cells.

    <errors>
    <warns_of_trees>
    <warns_of_columns>

    Examples
    --------
    >>> import skeltraj as st
    >>> adata = st.datasets.distorted_s(200)
    >>> st.tl.principal_tree(adata)
    >>> graph = st.get.graph(adata, "principal_tree")
    >>> len(graph.tips), len(graph.forks)
    (2, 0)
    >>> st.tl.order(adata, {"place": "min"}, key="principal_tree")
    >>> bool(adata.obs["principal_tree_pseudotime"].corr(adata.obs["place"], "spearman") > 0.99)
    True
    """
    source = pick(adata, use_rep, layer)
    warn_if_wide(source)
    return learn(
        "principal_tree",
        lambda shown: core.learn_tree(
            source.matrix,
            "principal_tree",
            denoise=denoise,
            n_nodes=n_nodes,
            gamma=gamma,
            sigma=sigma,
            assignment=assignment,
            init=init,
            max_iter=max_iter,
            tol=tol,
            n_starts=n_starts,
            prune=prune,
            rng=rng,
            callback=shown,
            step=shown.step,
            count=shown.trees,
            name=source.name,
        ),
        adata,
        source,
        key_added=key_added,
        progress=progress,
        copy=copy,
        rng=rng,
    )
