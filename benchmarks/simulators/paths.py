"""Paths between cell types, as in splatter (Zappia et al. 2017)."""

from __future__ import annotations

import anndata as ad
import numpy as np
from scipy.interpolate import Akima1DInterpolator

from simulators.cells import annotated, streams
from simulators.nuisances import Nuisances, disturbance, dropped_out
from simulators.random_trees import along_edges, cells_on, random_tree

STEPS = 100  # of a path
KNOTS = 5  # of the bridge that a bent gene follows
BENT = 0.1  # share of the genes that do not go straight from one end to the other


def paths(
    n_forks: int = 2,
    *,
    n_cells: int = 1000,
    n_genes: int = 1000,
    seed: int = 0,
    uneven: bool = False,
    changing: float = 0.15,
    depth: float = 1.5,
    nuisances: Nuisances = Nuisances(),
) -> ad.AnnData:
    """Cells on their way between types that differ in a share of the genes.

    The type at the root has gamma distributed means. Along each edge a share of the genes change their mean by a
    log-normal factor. Most go straight from the one mean to the other; one in ten follows a Brownian bridge through
    five knots, so that a path bends. A cell's means are brought to its library size, which is log-normal, and varied by
    gamma noise with the biological coefficient of variation ``(0.1 + 1 / sqrt(mean)) / 2`` times a gene's own factor.
    Counts are Poisson.

    Parameters
    ----------
    n_forks, n_cells, n_genes, seed, uneven, nuisances
        As those of ``walks``.
    changing, depth
        Share of the genes that differ between the ends of a path, and counts for each gene of a cell. A small panel is
        chosen for its genes and measured deeper.

    Returns
    -------
    AnnData of counts, with the truth; see ``annotated``.

    References
    ----------
    L. Zappia, B. Phipson, A. Oshlack: Splatter: simulation of single-cell RNA sequencing data. Genome Biology 18
    (2017), 174. Sizes of effects are chosen here; the variation is half of the formula's; it is capped at 3.
    """
    for_cells, for_genes, for_counts, for_nuisances = streams(seed)
    tree = random_tree(n_forks, for_cells)
    places = cells_on(tree, n_cells, for_cells, uneven=uneven)
    at = {tree.edges[0][0]: for_genes.gamma(0.6, 1 / 0.3, n_genes) + 1e-3}
    courses = []
    for (parent, child), length in zip(tree.edges, tree.lengths, strict=True):
        size = np.abs(for_genes.normal(0.3, 0.5, n_genes)) * for_genes.choice([-1, 1], n_genes)
        factor = np.where(for_genes.random(n_genes) < changing, 1.5 * np.sqrt(length) * size, 0.0)
        at[child] = at[parent] * np.exp(factor)
        courses.append(_course(at[parent], at[child], for_genes))
    mean = along_edges(courses, places)

    disturbed = disturbance(n_cells, n_genes, nuisances, for_nuisances)
    mean *= np.exp(disturbed.change)
    mean *= np.exp(for_counts.normal(np.log(depth * n_genes), 0.35, (n_cells, 1))) / mean.sum(1, keepdims=True)
    own = np.sqrt(30 / for_genes.chisquare(30, n_genes))
    variation = np.minimum((0.1 + 1 / np.sqrt(mean)) * 0.5 * own, 3.0)
    mean = for_counts.gamma(variation**-2, mean * variation**2)
    counts = dropped_out(for_counts.poisson(mean), mean, nuisances.dropout, for_nuisances)
    return annotated(counts, tree, places, disturbed, "paths")


def _course(start: np.ndarray, end: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Means (steps + 1, genes) on the way between two types."""
    along = np.linspace(0, 1, STEPS + 1)[:, None]
    course = start + along * (end - start)
    knots = np.linspace(0, 1, KNOTS)[:, None]
    walk = np.vstack([np.zeros(len(start)), rng.standard_normal((KNOTS - 1, len(start))).cumsum(axis=0)])
    walk /= np.sqrt(KNOTS - 1)
    bridge = 0.4 * (start + end) * (walk - knots * walk[-1])  # zero at both ends; 0.8 of the mean of the means
    bent = rng.random(len(start)) < BENT
    course[:, bent] += Akima1DInterpolator(knots[:, 0], bridge[:, bent])(along[:, 0])
    return np.maximum(course, 1e-6)
