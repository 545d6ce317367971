from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from anndata import AnnData

from skeltraj import core
from skeltraj._docs import shared_texts
from skeltraj._keys import Entry, Keys, TestEntry, TrendsEntry
from skeltraj._progress import Progress
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.threads import interruptible
from skeltraj.core._runtime.warn import warn
from skeltraj.get._reading.entries import mark
from skeltraj.tl._inputs.copies import refuse_copy_on_disk
from skeltraj.tl._inputs.genes_along import Along, GenesAlong
from skeltraj.tl._inputs.tested_genes import read_genes
from skeltraj.tl._results.changes import Changes
from skeltraj.tl._results.forget import forget_trends
from skeltraj.tl._results.write_tests import knots
from skeltraj.tl._results.write_trends import among_all_genes, places_table


@interruptible()
@as_declared
@shared_texts
def trends(
    adata: AnnData,
    genes: str | Sequence[str] | np.ndarray | None = None,
    *,
    layer: str | None = None,
    family: str = "auto",
    size_factors: str | None = "auto",
    covariates: str | Sequence[str] | None = None,
    n_knots: int | str = "auto",
    progress: bool | None = None,
    key: str = "ddrtree",
    copy: bool = False,
) -> AnnData | None:
    """Fit the curves of genes along the ordered tree, with their standard errors.

    A gene's curve is that of :func:`skeltraj.tl.association`: splines along every branch, continuous at forks, at the
    means of the covariates; for counts, it is the mean at a size factor of 1. It is fitted by maximum likelihood, and
    stored at 21 places along every branch, ends included, which is enough to draw it. Dispersions are those that
    :func:`skeltraj.tl.association` stored, if it read the same counts; otherwise they are estimated from these genes.

    Parameters
    ----------
    <adata_ordered>
    genes
        Genes to fit: names, a boolean column of `var` ("highly_variable"), or a mask (a Series is matched by its
        index). None: all.
    <layer_tested>
    <family>
    <size_factors>
    <covariates>
    <n_knots>
    <progress>
    <key>
    <copy>

    Returns
    -------
    None, or with ``copy=True`` the copy. Sets the following, for ``key="ddrtree"``, replacing earlier results:

    ``.varm["ddrtree_trends"]`` : array, (n_vars, n_places), float32
        Curves: for counts, the natural logarithm of the mean at size factor 1, else the mean of the values. NaN for
        genes that were not fitted or are constant, and at places that no cell informs.
    ``.varm["ddrtree_trends_se"]`` : array, likewise
        Standard errors.
    ``.obs["ddrtree_size_factor"]`` : float
        Size factors of the cells, of counts.
    ``.uns["ddrtree"]["trends"]`` : dict
        ``places``, a table with a row for each place: ``branch``, ``along`` (how far from the branch's start),
        ``pseudotime``, ``support`` (how many cells a curve rests on there), ``n_cells`` that lie nearest to it, and for
        each lineage ("T1") whether the place lies on it; and ``family``, ``layer`` or ``use_rep``, ``size_factors``,
        ``covariates``, ``n_cells`` used, ``n_genes`` fitted, ``n_constant``, ``knots``, ``version``.

    Read them with :func:`skeltraj.get.trends`. :func:`skeltraj.tl.order` removes them.

    Raises
    ------
    KeyError
        If the cells have not been ordered, or there is no such layer, column or gene.
    TypeError, ValueError
        If counts are not whole numbers, or there are fewer cells than coefficients. `adata` is then unchanged.

    Warns
    -----
    UserWarning
        If genes are constant (for example all zero), or if `X` does not hold counts although there is a layer "counts".

    Examples
    --------
    <example_ordered>
    >>> st.tl.trends(adata, ["Gata1", "Pu.1"])
    >>> table = st.get.trends(adata, "Pu.1", lineage="T1")
    >>> table["branch"].unique().tolist()  # from the root to T1
    ['B5', 'B3', 'B1']
    >>> bool(table["mean"].iloc[-1] > table["mean"].iloc[0])
    True
    """
    refuse_copy_on_disk(adata, copy)
    along, keys = Along.read(adata, key, "trends", covariates=covariates, n_knots=n_knots), Keys(key)
    gene_data = read_genes(adata, layer=layer, family=family, size_factors=size_factors, genes=genes)
    fitted = GenesAlong(along, gene_data)
    with Progress("trends", progress) as shown:
        result = core.trends(
            gene_data.matrix,
            fitted.basis,
            along.position,
            along.root,
            dispersion=fitted.stored_dispersions,
            callback=shown.responses,
            **fitted.of_matrix,
        )
    n_constant = int(np.isnan(result.curve).all(axis=1).sum())
    if n_constant:
        warn(
            f"{n_constant} of {len(gene_data.tested)} genes have the same value in all {int(fitted.used.sum())} cells "
            "used (mostly all zero) and have no curve (NaN)."
        )
    changes = Changes()
    changes.put("varm", keys.trends, among_all_genes(result.curve, adata.n_vars, gene_data.tested))
    changes.put("varm", keys.trends_error, among_all_genes(result.error, adata.n_vars, gene_data.tested))
    if gene_data.size_factors is not None:
        changes.put("obs", keys.size_factor, gene_data.size_factors)
    forget_trends(changes, keys)
    record = fitted.recorded | {
        TestEntry.N_CELLS: int(fitted.used.sum()),
        TestEntry.N_CONSTANT: n_constant,
        TestEntry.KNOTS: knots(fitted.basis),
        TrendsEntry.PLACES: places_table(result),
        Entry.MADE_OF: mark(adata.uns[keys.uns], Entry.TRENDS),
    }
    changes.put("uns", keys.uns, dict(adata.uns[keys.uns]) | {Entry.TRENDS: record})
    adata = adata.copy() if copy else adata
    changes.make(adata, of_others=copy)
    return adata if copy else None
