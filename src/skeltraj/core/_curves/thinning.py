"""Counts parted into two sets that are independent of each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from skeltraj.core._data.canonical_order import row_keys
from skeltraj.core._runtime import check
from skeltraj.core._runtime.lazy import loaded
from skeltraj.core._runtime.threads import ordered_map

_POISSON = 1e-8  # dispersion below which a negative binomial is a Poisson distribution
_GENES_AT_ONCE = 256


def thin_counts(
    counts: Any, dispersion: float | np.ndarray, share: float = 0.5, rng: int | np.random.Generator = 0
) -> tuple[Any, Any]:
    """Split counts into two independent sets of counts that add up to them.

    Where a count is negative binomial with mean m and variance ``m + a m^2``, the parts are negative binomial with
    means ``share m`` and ``(1 - share) m`` and dispersions ``a / share`` and ``a / (1 - share)``: a skeleton that is
    learned from one part knows nothing of the errors of the other. Given the count, the first part is beta-binomial
    with parameters ``share / a`` and ``(1 - share) / a`` (Neufeld et al. 2023). With a dispersion b instead of a,
    their covariance is ``share (1 - share) m^2 (a - b) / (1 + b)``; with ``dispersion=0`` (Poisson thinning) that is
    far from 0 for counts that are overdispersed.

    Parameters
    ----------
    counts
        (n, n_genes), whole numbers from 0 up, of any type: sparse or dense.
    dispersion
        The a of each gene, (n_genes,), or one for all; from 0 up.
    share
        Of the first part, between 0 and 1.
    rng
        Seed or generator. Each gene has random numbers of its own, by its place, one for each count above 0. Rows take
        them in an order that follows from their counts, so that the result for a row does not depend on its position
        (rows with the same counts may change places).

    Returns
    -------
    The two parts, of the format and type of `counts`.

    Raises
    ------
    TypeError, ValueError
        If counts are no whole numbers from 0 up, a dispersion is negative, or `share` is not between 0 and 1.

    References
    ----------
    Neufeld, Popp, Gao, Battle, Witten. Negative binomial count splitting for single-cell RNA sequencing data.
    arXiv 2307.12985 (2023).

    Examples
    --------
    >>> import numpy as np
    >>> from skeltraj import core
    >>> counts = np.random.default_rng(0).poisson(5, (100, 3))
    >>> first, second = core.thin_counts(counts, dispersion=0)
    >>> bool((first + second == counts).all())
    True
    """
    share = check.share(share, "share")
    counts = loaded(counts)
    whole = _columns(counts)
    a = _dispersions(dispersion, whole.shape[1])
    seed, key = int(check.generator(rng).integers(1 << 62)), row_keys(whole.tocsr())

    def part_of(j: int) -> np.ndarray:
        at = _entries_of(whole, j)
        order = np.argsort(key[whole.indices[at]], kind="stable")
        drawn = np.empty(len(order), dtype=np.int64)
        drawn[order] = _first_part(whole.data[at][order], a[j], share, _generator_of(seed, j))
        return drawn

    def first_of(genes: range) -> np.ndarray:
        return np.concatenate([part_of(j) for j in genes])

    n = whole.shape[1]
    blocks = [range(j, min(j + _GENES_AT_ONCE, n)) for j in range(0, n, _GENES_AT_ONCE)]
    one = np.concatenate(ordered_map(first_of, blocks)).astype(whole.dtype)
    other = whole.data - one
    return _as_given(whole, one, counts), _as_given(whole, other, counts)


def _columns(counts: Any) -> sparse.csc_matrix:
    """Checked counts, column by column."""
    if sparse.issparse(counts):
        whole = sparse.csc_matrix(check.entries(counts, "counts"))
    else:
        dense = check.array(counts, "counts")
        if dense.ndim != 2:
            raise ValueError(f"counts are an array of shape {dense.shape}; wanted (n, n_genes).")
        whole = sparse.csc_matrix(_for_sparse(dense)) if dense.dtype.kind in "fiub" else dense
    if whole.dtype.kind not in "fiu":
        raise TypeError(f"counts are of type {whole.dtype}; wanted whole numbers from 0 up.")
    values = whole.data
    if not whole.shape[1]:
        raise ValueError(f"counts have no columns: shape {whole.shape}; wanted at least one gene.")
    wrong = ~((values >= 0) & (values <= check.LARGEST_COUNT)) | (values != np.floor(values))
    if wrong.any():
        at = int(wrong.argmax())
        gene = int(np.searchsorted(whole.indptr, at, side="right")) - 1
        raise ValueError(
            f"counts: column {gene} holds {values[at]:g}; wanted whole numbers from 0 to {check.LARGEST_COUNT:g}."
        )
    return whole


def _for_sparse(dense: np.ndarray) -> np.ndarray:
    """The same in a type that sparse matrices may have: neither half precision nor another order of bytes."""
    dense = dense.astype(dense.dtype.newbyteorder("="), copy=False)
    return dense.astype(np.float32) if dense.dtype == np.float16 else dense


def _dispersions(dispersion: Any, n: int) -> np.ndarray:
    a = check.array(dispersion, "dispersion")
    if a.dtype.kind not in "fiu":
        raise TypeError(f"dispersion is of type {a.dtype}; wanted numbers from 0 up.")
    if a.shape not in ((), (n,)):
        raise ValueError(f"dispersion is of shape {a.shape}; wanted one number, or one for each of {n} genes.")
    a = np.broadcast_to(a.astype(np.float64), (n,))
    wrong = ~(a >= 0) | np.isinf(a)
    if wrong.any():
        raise ValueError(f"dispersion: {a[wrong][0]:g} (gene {int(wrong.argmax())}); wanted numbers from 0 up.")
    return a


def _entries_of(whole: sparse.csc_matrix, j: int) -> slice:
    return slice(int(whole.indptr[j]), int(whole.indptr[j + 1]))


def _generator_of(seed: int, j: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(j,))))


def _first_part(values: np.ndarray, a: float, share: float, rng: np.random.Generator) -> np.ndarray:
    """The first part of counts above 0 of a gene."""
    n = values.astype(np.int64)
    if a < _POISSON:
        return rng.binomial(n, share)
    return rng.binomial(n, rng.beta(share / a, (1 - share) / a, len(n)))


def _as_given(whole: sparse.csc_matrix, values: np.ndarray, counts: Any) -> Any:
    """A part as a matrix of the format in which the counts were given; `values` are taken over."""
    part = sparse.csc_matrix((values, whole.indices.copy(), whole.indptr.copy()), whole.shape)
    if not sparse.issparse(counts):
        return part.toarray().astype(check.array(counts, "counts").dtype, copy=False)
    part.eliminate_zeros()
    return type(counts)(part.asformat(counts.format))
