from __future__ import annotations

from typing import Any, Literal

from anndata import AnnData

from skeltraj import core

from ._input import pick
from ._learn import learn


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
    key_added: str = "drtree",
    progress: bool | None = None,
    copy: bool = False,
) -> AnnData | None:
    """Learn an embedding in which the cells themselves form a tree by DRTree (KDD 2015).

    Parameters
    ----------
    adata
        Annotated data.
    n_components
        Dimensions of the embedding; or, between 0 and 1, the share of the variance that the leading principal
        components must keep, which sets them.
    use_rep
        Key in `obsm` of the input, or "X". Default: "X_pca" if there is one, else "X".
    layer
        Layer to take as the input instead.
    kernel
        Key in `obsp` of a kernel matrix (inner products) to take as the input instead.
    lam
        How strongly the tree is shortened. "auto": the number of cells. 0 is PCA.
    center
        Subtract the column means first.
    init
        Where to start: None for PCA, a key in `obsm`, an array (n_obs, n_components), or a function of the input that
        returns one.
    max_iter
        Most rounds.
    tol
        Relative change of the objective at which to stop.
    key_added
        Name under which to store.
    progress
        Show rounds and objective on standard error. None: if scanpy's verbosity is 2 or more.
    copy
        Return a copy instead of storing in `adata`.

    Returns
    -------
    None, or with ``copy=True`` the copy. Sets the following fields (for ``key_added="drtree"``):

    ``.obsm["X_drtree"]`` : array, float64, (n_obs, n_components)
        The cells in the embedding.
    ``.uns["drtree"]`` : dict
        ``params`` (as resolved, with the version), ``nodes``, ``edges``, ``edge_length``, ``objective`` (at the start of
        each round and at the end), ``converged``, ``n_iter``, ``mean`` (what was subtracted), and ``loadings``
        (n_features, n_components) unless in `varm`. The nodes are the cells, (n_obs, n_components), and stay all of them
        when cells are taken out of `adata`.
    ``.varm["drtree_loadings"]`` : array, float64, (n_vars, n_components)
        Loadings of the genes, where the input was `X` or a layer.

    Results of an earlier fit of that name, its order included, are removed.

    Raises
    ------
    KeyError
        If the input named is not there.
    TypeError, ValueError
        If the input or a parameter is not usable; see :func:`skeltraj.core.drtree`. `adata` is then unchanged.

    Warns
    -----
    UserWarning
        If the fit stopped at `max_iter` before it converged.
    """
    source = pick(adata, use_rep, layer, kernel)
    if isinstance(init, str):
        init = pick(adata, init, None, argument="init").matrix
    return learn(
        "drtree",
        lambda callback: core.drtree(
            source.matrix,
            n_components,
            lam=lam,
            center=center,
            kernel=None if kernel is None else "precomputed",
            init=init,
            max_iter=max_iter,
            tol=tol,
            callback=callback,
            name=source.name,
        ),
        adata,
        source,
        key_added=key_added,
        progress=progress,
        copy=copy,
    )
