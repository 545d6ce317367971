"""Shapes of fitted curves: what remains of them without their level and their range; and curves of like shape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import computing

from .model import Family

_HALF_A_COUNT = 0.5
# chosen by eye
_EXPLAINED = 0.8  # share of the variance of shapes that the automatic number of groups explains
_MAX_CLUSTERS = 12
_N_LINKED = 2000  # curves whose distances are all looked at
_MAX_ITER = 100


def heights(curve: np.ndarray, support: np.ndarray, family: Family) -> np.ndarray:
    """Curves on the scale of the link, (..., n_places), but for counts nowhere far below what a region may hold.

    Half a count, divided by the median support of the places, is added to means of counts, since the logarithm of 0 is
    minus infinity.
    """
    if family != "negative_binomial":
        return curve
    supported = support[support > 0]
    return np.log(np.exp(curve) + _HALF_A_COUNT / np.median(supported)) if len(supported) else curve


def standardized(height: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Curves less their mean, over their standard deviation over places by weight; 0 for curves that are level.

    Parameters
    ----------
    height
        (n_curves, n_places); NaN: unknown there, which counts for nothing.
    weight
        Of the places, (n_places,), >= 0.
    """
    known = np.isfinite(height)
    share = np.where(known, weight, 0.0)
    total = share.sum(axis=1, keepdims=True)
    share = np.divide(share, total, out=np.zeros_like(share), where=total > 0)
    centred = height - (share * np.where(known, height, 0.0)).sum(axis=1, keepdims=True)
    spread = np.sqrt((share * np.where(known, centred, 0.0) ** 2).sum(axis=1, keepdims=True))
    level = spread <= 1e-6 * np.maximum(np.abs(height).max(axis=1, keepdims=True, initial=0.0, where=known), 1e-300)
    return np.where(level, np.where(known, 0.0, np.nan), centred / np.where(level, 1.0, spread))


@dataclass(frozen=True, eq=False, repr=False)
class Clusters:
    """Curves grouped by their shape.

    Parameters
    ----------
    label
        Group of each curve, (n_curves,), from 0.
    mean
        Mean shape of each group, (n_clusters, n_places).
    explained
        Share of the variance of the shapes that lies between the groups.
    """

    label: np.ndarray
    mean: np.ndarray
    explained: float


@computing()
def cluster_curves(shape: np.ndarray, weight: np.ndarray, n_clusters: int | str = "auto") -> Clusters:
    """Group curves by their shape.

    Ward's tree of the curves (of 2,000 spread over all, if there are more), cut, then k-means from the means of its
    groups over all curves. Groups are numbered by where their mean is highest, in the order of the places. The result
    depends neither on the order of the curves nor on chance.

    Parameters
    ----------
    shape
        Standardised curves, (n_curves, n_places), finite.
    weight
        Of the places, (n_places,), >= 0: squared differences count by it.
    n_clusters
        Number of groups. "auto": the smallest, up to 12, that explains 80 % of the variance of the shapes.

    Raises
    ------
    TypeError, ValueError
        If the number is none from 1 to that of different curves.

    References
    ----------
    Ward. Hierarchical grouping to optimize an objective function. Journal of the American Statistical Association 58
    (1963).
    """
    from scipy.cluster.hierarchy import cut_tree, linkage  # slow to import

    by_value = np.lexsort(shape.T[::-1])  # an order of their own
    X = shape[by_value] * np.sqrt(weight / weight.sum())
    n_different = 1 + int((X[1:] != X[:-1]).any(axis=1).sum())
    if not isinstance(n_clusters, str) or n_clusters != "auto":
        n_clusters = check.count(n_clusters, "n_clusters", at_most=n_different, why=f" ({n_different} curves differ)")
    peak = np.lexsort((np.arange(len(X)), X.argmax(axis=1)))
    some = np.sort(peak[np.unique(np.linspace(0, len(X) - 1, _N_LINKED).astype(np.int64))])
    numbers = list(range(1, 1 + min(_MAX_CLUSTERS, n_different))) if n_clusters == "auto" else [int(n_clusters)]
    if len(some) == 1:
        cuts = np.zeros((1, len(numbers)), dtype=np.int64)
    else:
        cuts = cut_tree(linkage(X[some], method="ward"), n_clusters=numbers)
    total = ((X - X.mean(axis=0)) ** 2).sum()
    for cut in cuts.T:
        label, within = _k_means(X, np.array([X[some[cut == k]].mean(axis=0) for k in range(cut.max() + 1)]))
        explained = 1 - within / total if total > 0 else 1.0
        if explained >= _EXPLAINED:
            break
    found = np.unique(label)
    mean = np.array([shape[by_value[label == k]].mean(axis=0) for k in found])
    order = np.lexsort((*mean.T[::-1], mean.argmax(axis=1)))
    rank = np.empty(len(found), dtype=np.int64)
    rank[order] = np.arange(len(found))
    of_curves = np.empty(len(X), dtype=np.int64)
    of_curves[by_value] = rank[np.searchsorted(found, label)]
    return Clusters(of_curves, mean[order], float(explained))


def _k_means(X: np.ndarray, mean: np.ndarray) -> tuple[np.ndarray, float]:
    """Groups after Lloyd's rounds from given means, and the sum of squares within them."""
    squares = (X**2).sum(axis=1)
    label = np.full(len(X), -1)
    for _ in range(_MAX_ITER):
        distance = (mean**2).sum(axis=1) - 2 * X @ mean.T
        new = distance.argmin(axis=1)
        if (new == label).all():
            break
        label = new
        for k in np.unique(label):
            mean[k] = X[label == k].mean(axis=0)
    return label, float((squares + distance[np.arange(len(X)), label]).sum())
