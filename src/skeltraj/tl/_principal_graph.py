from __future__ import annotations

from typing import Any, Literal, cast

import numpy as np
from anndata import AnnData
from scipy import sparse

from skeltraj import core

from ._input import entry, pick
from ._learn import learn


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
    """Learn a graph with loops, in as many parts as there are, in the space of the input (TPAMI 2017).

    Parameters
    ----------
    adata
        Annotated data.
    use_rep
        Key in `obsm` of the input, or "X". Default: "X_pca" if there is one, else "X".
    layer
        Layer to take as the input instead.
    n_nodes
        Nodes of the graph. "auto": about 60, growing slowly with the number of cells; they should be farther apart
        than the data are noisy. "all" or None: one per cell.
    gamma
        Weight of the data against the length of the graph. "auto": ``2 n_nodes / (3 n_obs)``.
    sigma
        Bandwidth of the soft assignment, in squared units of the data. "auto": six times the median squared
        distance to the 15th neighbour, divided by the number of dimensions in which neighbours differ.
    eta
        Weight of the error with which nodes are made of their neighbours, in units of the data. "auto": 10 times the
        median distance from a node to its second neighbour at the start.
    constant
        What stands beside the coordinates of a node when it is made of its neighbours, in units of the data; see
        :func:`skeltraj.core.principal_graph`. "auto": twice that distance.
    candidates
        Which nodes may be joined: the so many nearest ones of each at the start, "all", a symmetric matrix,
        (n_nodes, n_nodes), that is not zero where they may, or a key in `obsp` of one (with ``n_nodes="all"``, such as
        "connectivities").
    cannot_link
        Pairs of nodes that may not be joined, (n_pairs, 2) (with ``n_nodes="all"`` or `init`).
    groups
        Column of `obs`, or labels, (n_obs,): nodes are joined within a group only.
    min_weight
        Edges with a smaller weight are left out of the result.
    assignment
        "soft", or "hard": each cell to its nearest node.
    init
        Nodes to start from, (n_nodes, n_features).
    max_iter
        Most rounds.
    tol
        Relative change of the objective at which to stop.
    rng
        Seed or generator for the nodes' start.
    key_added
        Name under which to store.
    progress
        Show rounds and objective on standard error. None: if scanpy's verbosity is 2 or more.
    copy
        Return a copy instead of storing in `adata`.

    Returns
    -------
    None, or with ``copy=True`` the copy. Sets the following fields (for ``key_added="principal_graph"``):

    ``.obsm["X_principal_graph"]`` : array, float64, (n_obs, n_features)
        Where the graph holds each cell: the mean of the nodes, weighted by its assignment.
    ``.obsm["principal_graph_assignment"]`` : CSR matrix, float64, (n_obs, n_nodes)
        Soft assignment of cells to nodes; rows sum to 1.
    ``.uns["principal_graph"]`` : dict
        ``params`` (as resolved, with the version), ``nodes``, ``edges``, ``edge_length``, ``objective`` (at the start of
        each round and at the end), ``converged``, ``n_iter`` and ``weights`` of the edges.
        The nodes are in the space of the input, (n_nodes, n_features).

    Results of an earlier fit of that name, its order included, are removed.

    Raises
    ------
    KeyError
        If the input named is not there.
    TypeError, ValueError
        If the input or a parameter is not usable; see :func:`skeltraj.core.principal_graph`. `adata` is then unchanged.

    Warns
    -----
    UserWarning
        If the fit stopped at `max_iter` before it converged.
    """
    source = pick(adata, use_rep, layer)
    if isinstance(candidates, str) and candidates != "all":
        candidates = entry(adata, "obsp", candidates, "candidates")
    labels = entry(adata, "obs", groups, "groups").to_numpy() if isinstance(groups, str) else groups
    return learn(
        "principal_graph",
        lambda callback: core.principal_graph(
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
            callback=callback,
            name=source.name,
        ),
        adata,
        source,
        key_added=key_added,
        progress=progress,
        copy=copy,
    )
