"""Does a gene change along a skeleton that was learned from the same counts?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from skeltraj._docs import shared_texts
from skeltraj._printing import Printed
from skeltraj.core._graph.graph import Graph
from skeltraj.core._graph.position import Position, positions_on
from skeltraj.core._runtime import check
from skeltraj.core._runtime.lazy import loaded
from skeltraj.core._runtime.threads import computing

from .combine import combined_p_values
from .design import Design
from .donor_scores import Spread, along_means, donor_scores, p_values_of
from .donors import donors_of, having
from .frame import Frame
from .likely_dispersion import likely_dispersions
from .model import Model
from .score_test import test_of
from .thinning import thin_counts
from .tree_basis import TreeBasis, placed, tree_basis

_MOST_SPLITS = 10_000  # each learns a skeleton; a few are enough

Learn = Callable[[Any], tuple[Graph, Position]]


@dataclass(frozen=True, eq=False, repr=False)
class SplitAssociation(Printed):
    """Which genes change along skeletons that were learned from one part of the counts, tested on the other part.

    Parameters
    ----------
    p_value
        Of all splits together (Cauchy combination), (n_tested,); NaN where no split can be tested.
    score
        The statistic divided by its mean under the null hypothesis, mean over the splits, (n_tested,).
    p_values
        Of each split, (n_splits, n_tested); NaN where the gene is constant in the part that is tested.
    dispersion
        Dispersion with which the counts were split, (n_genes,).
    """

    p_value: np.ndarray
    score: np.ndarray
    p_values: np.ndarray
    dispersion: np.ndarray


@computing()
@shared_texts
def split_association(
    counts: Any,
    basis: TreeBasis,
    position: Position,
    learn: Learn,
    *,
    n_splits: int = 5,
    share: float = 0.5,
    n_knots: int | str = "auto",
    size_factors: np.ndarray | None = None,
    covariates: np.ndarray | None = None,
    sample: np.ndarray | None = None,
    used: np.ndarray | None = None,
    tested: np.ndarray | None = None,
    names: Sequence[str] | None = None,
    rng: int | np.random.Generator = 0,
    callback: Callable[[int, int], Any] | None = None,
) -> SplitAssociation:
    """Test which genes change along a skeleton that is learned from the same counts.

    A skeleton follows the errors of the counts that it was learned from, so along it they seem to change. Here the
    counts are split (:func:`thin_counts`), the skeleton is learned from the first part, and the second part, which is
    independent of the first, is tested along it (:func:`association`). This is done several times, and the p-values are
    combined (`combined_p_values`).

    The parts are independent if the dispersion of each gene is right. It is the maximum-likelihood estimate from all
    counts around curves on a skeleton that was learned from one part: around the skeleton of all counts it would be too
    small, since that one follows their errors, and around the mean too large for genes that change. For splitting off
    that part, which is used for nothing else, dispersions around the given skeleton are good enough.

    Parameters
    ----------
    counts
        (n, n_genes), whole numbers from 0 up, in memory: sparse or dense.
    basis
        Curves on a skeleton that was learned from all counts, as :func:`tree_basis` gives them.
    <position>
    learn
        A function that takes a part of the counts, in the form of `counts`, and returns a skeleton that it learns from
        them, a :class:`Graph`, and the positions of the points on it, a :class:`Position`.
    n_splits
        Number of times to split the counts.
    share
        Share of the counts in the part from which skeletons are learned.
    n_knots
        As in :func:`tree_basis`, for each skeleton that is learned.
    size_factors, covariates, sample, used, names
        As in :func:`association`; names are those of all genes.
    tested
        Which genes to test, (n_tested,). None: all. Skeletons are learned from all of them.
    rng
        Seed or generator.
    callback
        Called as ``callback(done, n_splits)``.

    Returns
    -------
    A :class:`SplitAssociation`.

    Raises
    ------
    TypeError, ValueError
        If counts are no whole numbers from 0 up, what `learn` gives does not fit the points, or an argument is out of
        range.

    References
    ----------
    Neufeld, Popp, Gao, Battle, Witten. Negative binomial count splitting for single-cell RNA sequencing data.
    arXiv 2307.12985 (2023).

    Examples
    --------
    <example_counts>
    >>> def learn(part):
    ...     fit = core.principal_tree(np.log1p(part), n_nodes=10)
    ...     return fit.graph, core.locate(fit.graph, fit.embedding)
    >>> result = core.split_association(counts, basis, position, learn, n_splits=2)
    >>> (result.p_value < 0.001).tolist()
    [False, True, True]
    """
    n_splits, share = check.count(n_splits, "n_splits", at_most=_MOST_SPLITS), check.share(share, "share")
    check.called(callback, "callback")
    if not callable(learn):
        raise TypeError(f"learn={check.in_message(learn)} is a {type(learn).__name__}; wanted a function.")
    counts = loaded(counts)
    if not sparse.issparse(counts):
        counts = check.array(counts, "counts")
    if len(counts.shape) != 2:
        raise ValueError(f"counts are an array of shape {counts.shape}; wanted (n, n_genes).")
    position = placed(basis, position)
    n, n_genes = counts.shape
    names = check.words(names, "names", n_genes, "genes")
    codes = None if sample is None else check.codes(sample, "sample", n)
    used = having(codes, used, n)
    chosen = np.arange(n_genes) if tested is None else check.numbers(tested, "tested", n_genes, "genes")
    pilot, *streams = check.generator(rng).spawn(n_splits + 1)
    of_tested = None if names is None else [names[j] for j in chosen]

    def frame(Y: Any, basis: TreeBasis, position: Position, names: Sequence[str] | None) -> Frame:
        return Frame.of(Y, basis, position, "negative_binomial", size_factors, covariates, used, names)

    def learned(part: Any) -> tuple[TreeBasis, Position]:
        given = learn(part)
        if not isinstance(given, tuple) or len(given) != 2:
            raise TypeError(f"learn gave {check.in_message(given)}; wanted a skeleton and positions on it.")
        graph, places = given
        places = positions_on(graph, places)
        if len(places.edge) != n:
            raise ValueError(f"learn gave positions of {len(places.edge)} points; wanted {n}.")
        return tree_basis(graph, places if used is None else places.part(used), n_knots), places

    def dispersions(basis: TreeBasis, position: Position) -> np.ndarray:
        whole = frame(counts, basis, position, names)
        return likely_dispersions(whole.responses, whole.tree_design(), whole.offset)

    # 1. dispersions
    part, _ = thin_counts(counts, dispersions(basis, position), share, pilot)
    dispersion = dispersions(*learned(part))
    # 2. splits
    p_values, scores = np.empty((n_splits, len(chosen))), np.empty((n_splits, len(chosen)))
    for i, stream in enumerate(streams):
        part, rest = thin_counts(counts, dispersion, share, stream)
        rest = rest[:, chosen]
        split = frame(rest, *learned(part), of_tested)
        design = split.tree_design()
        model, _, _ = split.model(design)
        p_values[i], scores[i] = _tested(split, model, design, codes)
        if callback is not None:
            callback(i + 1, n_splits)
    # 3. together; what cannot be tested in a split says nothing there
    known = np.isfinite(p_values)
    n_known = known.sum(axis=0)
    score = np.where(known, scores, 0.0).sum(axis=0) / np.maximum(n_known, 1)
    score = np.where(n_known > 0, score, np.nan)
    return SplitAssociation(combined_p_values(p_values), score, p_values, dispersion)


def _tested(frame: Frame, model: Model, design: Design, sample: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """p-values and scores of one split, of points or of donors."""
    test = test_of(model, design)
    if sample is None:
        p_value, _, score, *_ = frame.responses.map(test)
        return p_value, score
    over_donors = donor_scores(model, design, donors_of(sample[frame.rows]))

    def both(at: slice, Y: np.ndarray) -> tuple[np.ndarray, ...]:
        return test(at, Y)[0], Y.sum(axis=1), *over_donors(at, Y)[0]

    p_value, total, *found = frame.responses.map(both)
    spread = Spread(*found)
    of_donors = p_values_of(spread, along_means("negative_binomial", total))
    return np.where(np.isnan(p_value), np.nan, of_donors), np.where(np.isnan(p_value), np.nan, spread.ratio)
