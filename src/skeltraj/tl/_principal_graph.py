from __future__ import annotations

from typing import Any, Literal, cast

import numpy as np
import pandas as pd
from anndata import AnnData
from scipy import sparse

from skeltraj import core
from skeltraj._docs import shared_texts
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.threads import interruptible
from skeltraj.get._reading.checks import one_column
from skeltraj.tl._fitting.fit_and_store import learn
from skeltraj.tl._inputs.labelled import in_order_of
from skeltraj.tl._inputs.pick import entry, pick, warn_if_wide


@interruptible()
@as_declared
@shared_texts
def principal_graph(
    adata: AnnData,
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    n_nodes: int | Literal["auto", "all"] | None = "auto",
    gamma: float | Literal["auto"] = "auto",
    sigma: float | Literal["auto"] = "auto",
    eta: float | Literal["auto"] = "auto",
    constant: float | Literal["auto"] = "auto",
    candidates: int | str | np.ndarray | sparse.spmatrix = 10,
    cannot_link: np.ndarray | None = None,
    groups: str | np.ndarray | None = None,
    min_weight: float = 0.1,
    assignment: Literal["soft", "hard"] = "soft",
    init: np.ndarray | None = None,
    max_iter: int = 200,
    tol: float = 1e-5,
    rng: int | np.random.Generator = 0,
    key_added: str = "principal_graph",
    progress: bool | None = None,
    copy: bool = False,
) -> AnnData | None:
    """Learn a graph that may have loops and separate parts, in the space of the input (TPAMI 2017).

    Parameters
    ----------
    <adata>
    <use_rep_layer>
    n_nodes
        Number of nodes of the graph. "auto": about 60, growing slowly with the number of cells; nodes should be farther
        apart than the noise is wide. If there are many small loops they are not: take fewer, about 10. "all" or None:
        one per cell.
    <gamma_sigma>
    eta
        Weight of the error with which nodes are reconstructed from their neighbours, in units of the data. "auto": 10
        times the median distance from a node to its second neighbour at the start.
    constant
        Constant appended to the coordinates of a node when it is reconstructed from its neighbours, in units of the
        data; see
        :func:`skeltraj.core.principal_graph`. "auto": twice that distance.
    candidates
        Which nodes may be joined: an int, the number of each node's nearest ones at the start; "all"; a symmetric
        matrix, (n_nodes, n_nodes), that is nonzero for the pairs allowed; or a key in `obsp` of such a matrix (with
        ``n_nodes="all"``, for example "connectivities").
    cannot_link
        Pairs of nodes that may not be joined, (n_pairs, 2) (with ``n_nodes="all"`` or `init`).
    groups
        Column of `obs`, or labels, (n_obs,) (a Series is matched by its index): nodes are joined only within a group.
    min_weight
        Edges with a smaller weight are left out of the result.
    <assignment_init>
    <max_iter_tol>
    <rng_nodes>
    <storing>

    Returns
    -------
    None, or with ``copy=True`` the copy. Sets the following fields (for ``key_added="principal_graph"``):

    ``.obsm["X_principal_graph"]`` : array, float64, (n_obs, n_features)
        Where the graph holds each cell: the mean of the nodes, weighted by its assignment. Where the input is a dask
        array, this and the assignment are dask arrays, too.
    ``.obsm["principal_graph_assignment"]`` : CSR matrix, float64, (n_obs, n_nodes)
        Soft assignment of cells to nodes; rows sum to 1.
    ``.uns["principal_graph"]`` : dict
        <stored>,
        in ``params`` also ``rng``, if it is a seed,
        <stored_input>,
        ``weights`` of the edges.
        The nodes are in the space of the input, (n_nodes, n_features).

    The solver can fail on the linear programme of a round (RuntimeError); `adata` is then unchanged.

    <errors>
    <warns_of_columns>
        Also if no two nodes are joined (`eta`, `min_weight`), or if there are many loops and `n_nodes` was not given.

    Examples
    --------
    >>> import skeltraj as st
    >>> adata = st.datasets.circle(200, noise=0.02)
    >>> st.tl.principal_graph(adata, n_nodes=16)
    >>> graph = st.get.graph(adata, "principal_graph")
    >>> graph.n_parts, len(graph.tips)
    (1, 0)
    >>> len(graph.edges) == graph.n_nodes  # one more than a tree has: a loop
    True
    """
    source = pick(adata, use_rep, layer)
    warn_if_wide(source)
    if isinstance(candidates, str) and candidates != "all":
        candidates = entry(adata, "obsp", candidates, "candidates")
    if isinstance(candidates, pd.DataFrame) and n_nodes in ("all", None):  # its rows and columns are cells
        rows = in_order_of(adata.obs_names, candidates, "candidates", "adata.obs_names")
        candidates = in_order_of(adata.obs_names, rows.T, "candidates, turned,", "adata.obs_names").T
    labels: Any = in_order_of(adata.obs_names, groups, "groups", "adata.obs_names")
    if isinstance(groups, str):
        entry(adata, "obs", groups, "groups")
        labels = one_column(adata.obs, groups, "groups").to_numpy()
    return learn(
        "principal_graph",
        lambda shown: core.principal_graph(
            source.matrix,
            n_nodes=n_nodes,
            gamma=gamma,
            sigma=sigma,
            eta=eta,
            constant=constant,
            candidates=cast(Any, candidates),
            cannot_link=cannot_link,
            groups=labels,
            min_weight=min_weight,
            assignment=assignment,
            init=init,
            max_iter=max_iter,
            tol=tol,
            rng=rng,
            callback=shown,
            name=source.name,
        ),
        adata,
        source,
        key_added=key_added,
        progress=progress,
        copy=copy,
        rng=rng,
    )
