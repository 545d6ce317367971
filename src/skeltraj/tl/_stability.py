from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from anndata import AnnData

from skeltraj import core, get
from skeltraj._docs import shared_texts
from skeltraj._keys import Keys, OrderEntry
from skeltraj._progress import Progress
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.threads import interruptible
from skeltraj.get._reading.coordinates import cells_in_embedding
from skeltraj.tl._fitting.stored_recipe import stored_recipe
from skeltraj.tl._inputs.copies import refuse_copy_on_disk
from skeltraj.tl._results.write_stability import store_stability


@interruptible()
@as_declared
@shared_texts
def stability(
    adata: AnnData,
    *,
    key: str = "ddrtree",
    n_replicates: int = 50,
    vary: Sequence[str] = ("cells",),
    rng: int | np.random.Generator = 0,
    progress: bool | None = None,
    copy: bool = False,
) -> AnnData | None:
    """Measure how stable the stored tree is: learn it again from bootstrap samples, and see which parts are recovered.

    In each replicate, as many cells as there are in the data are drawn with replacement, then denoised, fitted and
    pruned as for the stored tree and with the same parameters. Only the default start is used, and a fit ends once a
    round changes the objective by less than a ten-thousandth. Then all cells, drawn or not, are put on the new tree.
    Trees are compared by which cells lie together:

    - The support of a *branch* that ends in a tip says how well its cells separate from all others again, wherever
      along the trunk they do so. The branch is cut at its fork and at each node farther out, as long as at least half
      of its cells lie beyond. Each cut divides all cells in two, and has the support of an edge (below); the branch has
      the mean of these. The support of a branch *between two forks* is its overlap with the most similar branch of a
      replicate (cells on both over cells on either, the Jaccard index; Hennig 2007); if less than a hundredth of the
      cells lies on it, as between two samples of a time course, it is judged by the divisions that it makes, as if it
      ended in a tip. All are means over the replicates; the branch is found again in those in which the value is more
      than half. Branches of support p were true about that often in simulations, less often in real data
      (`docs/methods/support_measured.md`). Support cannot detect what all replicates get wrong in the same way. The
      *overlap* of a branch, of either kind, is its Jaccard index.
    - The support of a *fork* is the share of the replicates with a corresponding fork: one with three sides that each
      match, by more than half, one of the fork's sides. It falls when the fork moves along the trunk. Its *triplets*
      only measure which cells separate from which: one cell is drawn from the far half of each of three sides, and the
      value is the share of such triplets in which, in a replicate, no cell lies on the path between the other two.
    - An *edge* divides the cells in two. Its support is ``1 - d / (p - 1)``, where d is the smallest number of cells
      that must change sides to get a division by some edge of the replicate, and p the number of cells on the smaller
      side; it is the mean over the replicates (Lemoine et al. 2018), and 1 if p is 0 or 1. If there are more than 2,000
      cells, about that many are used.

    Parameters
    ----------
    adata
        Annotated data with ordered cells on a tree by `tl.ddrtree` or `tl.principal_tree`, and the input of that fit.
    <key>
    n_replicates
        How many times to learn the tree again.
    vary
        What differs between replicates. "cells": the cells are drawn; without it, all are used. "sigma", "lam" (gamma
        for a principal tree), "n_nodes": these parameters, by a factor from 1/2 to 2 (with uniform logarithm). "rng":
        the seed of the nodes' start.
    <rng>
    <progress>
    <copy>

    Returns
    -------
    None, or with ``copy=True`` the copy. Sets the following fields (for ``key="ddrtree"``), which
    :func:`skeltraj.tl.order` removes, since they belong to an order:

    ``.obs["ddrtree_pseudotime_sd"]`` : float64
        Standard deviation of the cell's pseudotime over the replicates, in units of pseudotime. In a replicate,
        pseudotime begins at the node with the smallest sum of path lengths to the 10 cells nearest to the root, and is
        scaled to the mean of the stored one, since trees differ in how much they are shortened.
    ``.obsm["ddrtree_branch_probability"]`` : DataFrame
        One column per branch ("B1", ...): the share of replicates in which the cell lies on that branch, that is, on
        one with an overlap above 1/2. If a row sums to less than 1, the rest is the share in which the cell lies on a
        branch that matches none.
    ``.uns["ddrtree"]["stability"]`` : dict
        Read back by :func:`skeltraj.get.stability`. ``branches`` (table: ``support``; ``found_again``, the share of
        replicates; ``overlap``; ``n_cells``), ``forks`` (table: ``node``, ``n_sides``, ``support``, ``triplets``),
        ``edges`` (table, as the stored edges: ``source``, ``target``, ``branch``, ``support``); ``consensus``: dict of
        ``nodes`` and ``edges`` of the tree without the parts that fewer than half of the replicates have, and
        ``place``, the number of each node there, -1 if it is gone; ``n_replicates`` and ``vary``.

    Raises
    ------
    KeyError
        If there is no fit of that name, its cells have not been ordered, or its input is gone.
    TypeError, ValueError
        If the skeleton is of another method or was changed since it was fitted (`tl.attach`, `tl.select_path`), its
        input is a kernel matrix or not in memory, an argument is out of range, or there are so few cells, or so many
        copies among them, that fewer than three of those drawn differ. `adata` is then unchanged.

    References
    ----------
    Hennig. Cluster-wise assessment of cluster stability. Computational Statistics & Data Analysis 52 (2007).
    Sayyari, Mirarab. Fast coalescent-based computation of local branch support from quartet frequencies. Molecular
    Biology and Evolution 33 (2016). (Their quartets of species are triplets of cells here.)
    Lemoine et al. Renewing Felsenstein's phylogenetic bootstrap in the era of big data. Nature 556 (2018).

    Examples
    --------
    <example_ordered>
    >>> # more for results: the default is 50
    >>> st.tl.stability(adata, n_replicates=5)
    >>> table = st.get.stability(adata)
    >>> table.branches.index.tolist()
    ['B1', 'B2', 'B3', 'B4', 'B5', 'B6', 'B7']
    >>> bool((table.branches["support"] > 0.5).all())
    True
    """
    refuse_copy_on_disk(adata, copy)
    order, keys, graph = get.ordered(adata, key), Keys(key), get.graph(adata, key)
    recipe, source = stored_recipe(adata, key)
    points = cells_in_embedding(adata, key, graph.nodes)
    if recipe.params["n_nodes"] > adata.n_obs:
        raise ValueError(
            f"the skeleton {key!r} was learned with {recipe.params['n_nodes']} nodes, from more cells than the "
            f"{adata.n_obs} that are here; wanted as many cells as nodes, or a tree learned from these."
        )
    with Progress("stability", progress) as shown:
        result = core.stability(
            graph,
            points,
            source.matrix,
            recipe,
            root=int(order[OrderEntry.ROOT]),
            n_replicates=n_replicates,
            vary=vary,
            rng=rng,
            callback=shown.replicates,
        )

    adata = adata.copy() if copy else adata
    store_stability(adata, keys, graph, result, n_replicates, vary)
    return adata if copy else None
