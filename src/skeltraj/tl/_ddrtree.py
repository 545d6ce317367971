from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from anndata import AnnData

from skeltraj import core
from skeltraj._docs import shared_texts
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.threads import interruptible
from skeltraj.tl._fitting.fit_and_store import learn
from skeltraj.tl._inputs.pick import pick, start


@interruptible()
@as_declared
@shared_texts
def ddrtree(
    adata: AnnData,
    n_components: int | float | Literal["auto"] = "auto",
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    kernel: str | None = None,
    denoise: int | bool | Mapping[str, int | Literal["auto"]] | Literal["auto"] = "auto",
    n_nodes: int | Literal["auto", "all"] | None = "auto",
    lam: float | Literal["auto"] = "auto",
    sigma: float | Literal["auto"] = "auto",
    gamma: float | Literal["auto"] = "auto",
    assignment: Literal["soft", "hard"] = "soft",
    center: bool = True,
    preset: Literal["kdd2015", "monocle2"] | None = None,
    init: Any = None,
    max_iter: int | Literal["auto"] = "auto",
    tol: float | Literal["auto"] = "auto",
    extrapolate: bool = False,
    least_weight: float = 0.0,
    n_starts: int | Literal["auto"] = "auto",
    prune: bool | Mapping[str, float] | Literal["auto"] = "auto",
    rng: int | np.random.Generator = 0,
    key_added: str = "ddrtree",
    progress: bool | None = None,
    copy: bool = False,
) -> AnnData | None:
    """Learn a tree, and an embedding of the cells around it, by DDRTree (KDD 2015).

    Three steps: the input is averaged along its neighbour graph (`denoise`), the tree is learned, from several starts
    (`n_starts`), and branches that the data do not support are removed (`prune`). The defaults adapt to the scale and
    the size of the data: the same data in other units, rotated, or with the cells in another order give the same tree.
    They were chosen by measurement (`benchmarks/defaults.py`); `preset` selects the settings of the paper or of Monocle
    2.

    Parameters
    ----------
    <adata>
    n_components
        Number of dimensions of the embedding; or, between 0 and 1, the share of the input's variance that the leading
        principal components must keep, which determines that number. "auto": 20 (2 with a preset), or as many as the
        input has. Two dimensions lose branches: learn in more, and draw the first two or another embedding
        (``pl.graph(basis="umap")``).
    <use_rep_layer>
    <kernel>
    <denoise>
    n_nodes
        Number of nodes of the tree. "auto": about 100, growing slowly with the number of cells. "all" or None: one per
        cell.
    lam
        How strongly the tree is shortened. "auto": ``c gamma n_obs / n_nodes`` with c = 30 / n_components, at
        least 1.5 and at most 3.
    sigma
        Bandwidth of the soft assignment, in squared units of the data. "auto": three times the median squared
        distance to the 15th neighbour (of n < 300 cells: the n // 20-th, at least the 2nd) in the leading components,
        of at most 256 cells spread over these, divided by their number (by 10, if there are more).
    gamma
        Weight of the quantisation error. "auto": 2 / n_components, at least 0.1.
    assignment
        "soft", or "hard", which assigns each cell to its nearest node.
    <center>
    preset
        "kdd2015" or "monocle2": the parameter values of the paper or of Monocle 2, without denoising and pruning.
        Explicitly given values take precedence.
    <init>
    max_iter
        Largest number of rounds. "auto": 200 (preset "monocle2": 20).
    tol
        Relative change of the objective at which to stop. "auto": 1e-5 (preset "monocle2": 1e-3).
    extrapolate
        Speed the rounds up by extrapolation; see :func:`skeltraj.core.ddrtree`.
    least_weight
        Leave out small weights of the assignment; see :func:`skeltraj.core.ddrtree`.
    <n_starts>
    <prune>
    <rng_nodes>
    <storing>

    Returns
    -------
    None, or with ``copy=True`` the copy. Sets the following fields (for ``key_added="ddrtree"``):

    ``.obsm["X_ddrtree"]`` : array, float64, (n_obs, n_components)
        The cells in the embedding. Where the input is a dask array, this and the assignment are dask arrays, too.
    ``.obsm["ddrtree_assignment"]`` : CSR matrix, float64, (n_obs, n_nodes)
        Soft assignment of cells to nodes; rows sum to 1.
    ``.uns["ddrtree"]`` : dict
        <stored>,
        <stored_input>,
        <stored_more>,
        ``mean`` (what was subtracted), and ``loadings`` (n_features, n_components) unless in `varm`.
    ``.varm["ddrtree_loadings"]`` : array, float64, (n_vars, n_components)
        Loadings of the genes, where the input was `X` or a layer.

    <errors>
    <warns_of_trees>

    Examples
    --------
    <example_data>
    >>> st.tl.ddrtree(adata)
    >>> adata.obsm["X_ddrtree"].shape
    (640, 11)
    >>> graph = st.get.graph(adata)
    >>> len(graph.tips), len(graph.forks)
    (5, 3)

    With the parameters of Monocle 2, under a name of its own:

    >>> st.tl.ddrtree(adata, preset="monocle2", key_added="monocle2")
    >>> adata.obsm["X_monocle2"].shape
    (640, 2)
    """
    source = pick(adata, use_rep, layer, kernel)
    init = start(adata, init)
    return learn(
        "ddrtree",
        lambda shown: core.learn_tree(
            source.matrix,
            "ddrtree",
            n_components=n_components,
            denoise=denoise,
            n_nodes=n_nodes,
            lam=lam,
            sigma=sigma,
            gamma=gamma,
            assignment=assignment,
            center=center,
            kernel=None if kernel is None else "precomputed",
            preset=preset,
            init=init,
            max_iter=max_iter,
            tol=tol,
            extrapolate=extrapolate,
            least_weight=least_weight,
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
