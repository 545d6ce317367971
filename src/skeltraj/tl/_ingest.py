from __future__ import annotations

import copy as copying
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from anndata import AnnData

from skeltraj import core, get
from skeltraj._docs import shared_texts
from skeltraj._keys import Entry, IngestedEntry, Keys, OrderEntry, Param
from skeltraj._progress import Progress
from skeltraj.core._learning.ingest import Ingested
from skeltraj.core._learning.ingest import ingest as place
from skeltraj.core._runtime import check
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.threads import interruptible
from skeltraj.core._runtime.warn import warn
from skeltraj.tl._inputs.copies import refuse_copy_on_disk
from skeltraj.tl._inputs.of_new_cells import same_input
from skeltraj.tl._inputs.pick import Input
from skeltraj.tl._results.changes import Changes
from skeltraj.tl._results.forget import forget_ranked_genes
from skeltraj.tl._results.read_fit import stored_reference, unchanged
from skeltraj.tl._results.write_fit import OF_THE_FIT, refuse_foreign
from skeltraj.tl._results.write_order import put_order

_MANY_FAR = 0.2  # share of far cells above which a warning says so; chosen by eye


@interruptible()
@as_declared
@shared_texts
def ingest(
    adata: AnnData,
    adata_ref: AnnData,
    *,
    key: str = "ddrtree",
    use_rep: str | None = None,
    quantile: float = 0.99,
    batch_size: int | None = None,
    progress: bool | None = None,
    copy: bool = False,
) -> AnnData | None:
    """Place new cells on the tree of other cells: their position, pseudotime, branch and lineages there.

    The tree stays as it is. Every new cell is denoised by its neighbours in the reference, if the reference was
    denoised, and placed as the fit would place it. A cell whose input equals that of a reference cell (to the precision
    of float32) gets that cell's place, so cells of the reference have the same values as there. All others are placed
    by iteration, starting from the place of the most similar reference cell. If the fit has converged, they end near
    cells like them; if it stopped after a few rounds, or with hard assignment (``preset="monocle2"``), some cells
    between two parts of the tree go where more rounds of the fit would have taken them.

    Nothing corrects for batches: new cells must have been measured and preprocessed like the reference (normalised to
    the same total, transformed and scaled alike, the same counts of genes); otherwise these differences are taken for
    biology. ``ddrtree_far`` shows where that fails.

    Cells of kinds that the reference lacks also get a place on the tree: the nearest one. ``ddrtree_far`` marks them. A
    single cell of an unseen type can seldom be recognised by itself. Therefore all new cells are compared together with
    their nearest reference cells, and those that share a common difference are marked. The result for a cell thus
    depends on the cells that are ingested with it, and a type needs at least ten cells, preferably hundreds. How often
    this succeeds was measured; see the documentation's page on new cells.

    Parameters
    ----------
    adata
        The new cells. Their genes are matched by name; they must include those on which the reference was fitted (for
        principal components, those with loadings), in any order, and may include others.
    adata_ref
        The reference, with a tree by `tl.ddrtree` or `tl.principal_tree` that is ordered by `tl.order`, and the input
        of the fit. It is not changed.
    key
        `key_added` of the fit in the reference, and in `adata`.
    use_rep
        If the reference was fitted on an entry of `obsm`: the key in `adata.obsm` of the same representation of the new
        cells; the columns of two DataFrames are matched by name. None: if the entry was "X_pca" and the reference has
        `X` and ``varm["PCs"]``, the new cells' `X` is projected on these as scanpy did, after subtracting the same gene
        means.
    quantile
        A cell is far if it stands out more than this share of the reference's cells. About ``1 - quantile`` of cells
        like the reference's are far.
    batch_size
        Number of cells read at once. None: as many as hold 2^24 values, at most 4,096. Matrices on disk and dask arrays
        (read a chunk at a time) stay where they are.
    <progress>
    <copy>

    Returns
    -------
    None, or with ``copy=True`` the copy. Sets the following fields (for ``key="ddrtree"``):

    ``.obsm["X_ddrtree"]``, ``.obsm["ddrtree_assignment"]``
        Place in the embedding, and assignment to the nodes of the tree; see :func:`skeltraj.tl.ddrtree`.
    ``.obs["ddrtree_pseudotime"]``, ``.obs["ddrtree_branch"]``
        From the reference's root, with its ids; see :func:`skeltraj.tl.order`. ``.obs["ddrtree_component"]``, if there
        are several.
    ``.obsm["ddrtree_position"]``, ``.obsm["ddrtree_lineages"]``
        Likewise.
    ``.obs["ddrtree_distance"]`` : float64
        Distance from the cell's input, as measured (not denoised), to its place on the tree, in all columns of the
        input, including those that the embedding leaves out; heavy tails are compressed first if those of the reference
        were. If the input is principal components, differences in genes that these leave out are not seen.
    ``.obs["ddrtree_likeness"]`` : float64
        Share of the reference's cells that stand out from the others at least as much as the cell does; 1 for cells
        that are in the reference.
    ``.obs["ddrtree_far"]`` : bool
        Whether that is ``1 - quantile`` or less. Of random halves of six public data sets put on the tree of the other
        halves, 0.5 to 1.3 % were far; of terminal cell types that the reference lacked, 84 % on average (44 to 100 %).
        Cells of a type that is rarer in the reference than among the new ones are more often far than `quantile` says
        (4 % on average). If `use_rep` gives the new cells' representation, it may have been made from the reference,
        which hides much: then 16 % of the cells of lacking types are found. Many far cells mean that they are of
        another kind, or that they were measured or preprocessed differently.
    ``.uns["ddrtree"]`` : dict
        The tree, copied: ``params``, ``nodes``, ``edges``, ``order`` and so on (``n_cells`` of its branches counts the
        new cells); ``ingested``: ``n_obs`` and ``version`` of the reference, ``input`` (what was read of the new
        cells), ``n_same`` (cells that the reference has) and ``quantile``. Loadings of genes stay with the reference.

    An earlier fit with the same name in `adata` is replaced. The tree can be ordered again and cut (`tl.select_path`),
    but not pruned or extended (`tl.prune`, `tl.attach`): that is only possible with the cells that it was learned from.

    Raises
    ------
    KeyError
        If the reference has no such tree, it is not ordered, or an entry is missing.
    TypeError, ValueError
        If genes are missing or not unique; if a representation has other columns; if the input of the reference is not
        what its tree was fitted on, or its ``X_pca`` not what its loadings make of its `X` (scaled or integrated
        since); if the tree was changed by `tl.attach` or `tl.select_path` (put the cells on the tree as fitted, then do
        the same with them), is of another method, or was itself ingested; if values are not finite. `adata` is then
        unchanged.

    Warns
    -----
    UserWarning
        If the share of far cells is more than a fifth, and more than `quantile` leaves.

    Examples
    --------
    <example_data>
    >>> reference, new = adata[::2].copy(), adata[1::2].copy()
    >>> # quick; for results: st.tl.ddrtree(reference)
    >>> st.tl.ddrtree(reference, n_starts=1, prune=False)
    >>> st.tl.order(reference, root={"cell_type": "progenitor"})
    >>> st.tl.ingest(new, reference)
    >>> bool(new.obs["ddrtree_pseudotime"].notna().all())
    True
    >>> # hardly any cell is unlike those of the reference
    >>> bool(new.obs["ddrtree_far"].mean() < 0.05)
    True
    """
    for name, value in (("adata", adata), ("adata_ref", adata_ref)):
        if not isinstance(value, AnnData):
            raise TypeError(f"{name} is a {type(value).__name__}; wanted an AnnData. For arrays see skeltraj.core.")
    if adata is adata_ref and not copy:
        raise ValueError("adata is adata_ref itself, whose cells are on the tree; wanted other cells, or copy=True.")
    refuse_copy_on_disk(adata, copy)
    record, keys = get.ordered(adata_ref, key), Keys(key)
    size = None if batch_size is None else check.count(batch_size, "batch_size")
    unchanged(adata_ref, key)
    known, new, words, columns = same_input(adata, adata_ref, key, use_rep)
    reference = stored_reference(adata_ref, key, columns)
    refuse_foreign(adata, keys, Input(new.X, new.name, {} if use_rep is None else {Param.USE_REP: use_rep}, False))
    with Progress("ingest", progress) as shown:
        result = place(
            reference, known, new, quantile=quantile, of_reference=use_rep is not None, size=size, callback=shown.cells
        )
    graph, root = reference.fit.graph, int(record[OrderEntry.ROOT])
    ordering = core.order(graph, result.position, root, result.assignment)

    _warn_if_many_far(result, quantile, keys)
    adata = adata.copy() if copy else adata
    changes = Changes()
    changes.put("obsm", keys.coordinates, result.embedding)
    changes.put("obsm", keys.assignment, result.assignment)
    changes.remove("varm", keys.loadings)
    colors = adata_ref.uns.get(keys.branch_colors)
    order = put_order(changes, adata.obs_names, keys, graph, ordering, _root_of(record), colors)
    forget_ranked_genes(changes, adata, keys)
    changes.put("obs", keys.distance, result.distance)
    changes.put("obs", keys.likeness, result.likeness)
    changes.put("obs", keys.far, result.far)
    entry = _tree_of(adata_ref, key) | {
        Entry.ORDER: order,
        Entry.INGESTED: {
            IngestedEntry.N_OBS: adata_ref.n_obs,
            IngestedEntry.VERSION: version("skeltraj"),
            IngestedEntry.INPUT: words,
            IngestedEntry.N_SAME: int((result.same >= 0).sum()),
            IngestedEntry.QUANTILE: float(quantile),
        },
    }
    changes.put("uns", keys.uns, entry)
    changes.make(adata)
    return adata if copy else None


def _warn_if_many_far(result: Ingested, quantile: float, keys: Keys) -> None:
    """Warn if more cells are far than new cells like those of the reference would be."""
    n_obs, n_far = len(result.far), int(result.far.sum())
    if n_far > max(_MANY_FAR, 1 - quantile) * n_obs and n_far > 1:
        warn(
            f"{n_far} of {n_obs} cells are unlike the reference's: they stand out more than {100 * quantile:g} % of "
            f"those do (adata.obs[{keys.far!r}]). They are of other kinds, or were not measured and preprocessed in "
            "the same way.",
        )


def _tree_of(adata_ref: AnnData, key: str) -> dict[str, Any]:
    """A copy of what is stored of the tree itself and of how it was learned."""
    stored = get.stored(adata_ref, key)
    of_method = core.METHODS[stored[Entry.PARAMS][Param.METHOD]].result.also_stored
    taken = (*OF_THE_FIT, Entry.NODES, Entry.EDGES, Entry.EDGE_LENGTH, Entry.STARTS, Entry.PRUNED, *of_method)
    return copying.deepcopy({name: stored[name] for name in taken if name in stored})


def _root_of(order: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of what is stored of the root, and of how it was found."""
    taken = (OrderEntry.ROOT, OrderEntry.RULE, OrderEntry.RANKING)
    return copying.deepcopy({name: order[name] for name in taken if name in order})
