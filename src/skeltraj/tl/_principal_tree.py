from __future__ import annotations

from typing import Literal

import numpy as np
from anndata import AnnData

from skeltraj import core

from ._input import pick
from ._learn import learn


def principal_tree(
    adata: AnnData,
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    n_nodes: int | Literal["auto", "all"] | None = "auto",
    gamma: float | Literal["auto"] = "auto",
    sigma: float | Literal["auto"] = "auto",
    assignment: Literal["soft", "hard"] = "soft",
    init: np.ndarray | None = None,
    max_iter: int = 200,
    tol: float = 1e-5,
    rng: int | np.random.Generator = 0,
    key_added: str = "principal_tree",
    progress: bool | None = None,
    copy: bool = False,
) -> AnnData | None:
    """Learn a tree of nodes in the space of the input: SimplePPT, the principal tree of TPAMI 2017.

    Parameters
    ----------
    adata
        Annotated data.
    use_rep
        Key in `obsm` of the input, or "X". Default: "X_pca" if there is one, else "X".
    layer
        Layer to take as the input instead.
    n_nodes
        Nodes of the tree. "auto": about 100, growing slowly with the number of cells. "all" or None: one per cell.
    gamma
        Weight of the data against the length of the tree. "auto": ``2 n_nodes / (3 n_obs)``.
    sigma
        Bandwidth of the soft assignment, in squared units of the data. "auto": six times the median squared
        distance to the 15th neighbour, divided by the number of dimensions in which neighbours differ.
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
    None, or with ``copy=True`` the copy. Sets the following fields (for ``key_added="principal_tree"``):

    ``.obsm["X_principal_tree"]`` : array, float64, (n_obs, n_features)
        Where the tree holds each cell: the mean of the nodes, weighted by its assignment.
    ``.obsm["principal_tree_assignment"]`` : CSR matrix, float64, (n_obs, n_nodes)
        Soft assignment of cells to nodes; rows sum to 1.
    ``.uns["principal_tree"]`` : dict
        ``params`` (as resolved, with the version), ``nodes``, ``edges``, ``edge_length``, ``objective`` (at the start of
        each round and at the end), ``converged``, ``n_iter`` and ``weights`` of the edges.
        The nodes are in the space of the input, (n_nodes, n_features).

    Results of an earlier fit of that name, its order included, are removed.

    Raises
    ------
    KeyError
        If the input named is not there.
    TypeError, ValueError
        If the input or a parameter is not usable; see :func:`skeltraj.core.principal_tree`. `adata` is then unchanged.

    Warns
    -----
    UserWarning
        If the fit stopped at `max_iter` before it converged.
    """
    source = pick(adata, use_rep, layer)
    return learn(
        "principal_tree",
        lambda callback: core.principal_tree(
            source.matrix,
            n_nodes=n_nodes,
            gamma=gamma,
            sigma=sigma,
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
