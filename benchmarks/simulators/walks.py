"""Gene programmes that walk at random along the branches of a tree, as in PROSSTT (Papadopoulos et al. 2019)."""

from __future__ import annotations

import anndata as ad
import numpy as np

from simulators.cells import annotated, streams
from simulators.nuisances import Nuisances, disturbance, dropped_out
from simulators.random_trees import Tree, along_edges, cells_on, random_tree

STEPS = 50  # of a walk for each unit of length
KEPT = 0.95  # share of its velocity that a walk keeps from step to step


def walks(
    n_forks: int = 2,
    *,
    n_cells: int = 1000,
    n_genes: int = 1000,
    seed: int = 0,
    uneven: bool = False,
    nuisances: Nuisances = Nuisances(),
) -> ad.AnnData:
    """Cells whose genes are sums of a few programmes, which diffuse along the branches.

    A programme starts on each branch where the branch before it ended, with a velocity of its own: ``w(t + 1) = w(t) +
    v(t) / 50`` and ``v(t + 1) = 0.95 v(t) + e(t)``, so that it is continuous and smooth. Gene g of a cell has the mean
    ``m = s b_g exp(sum_k w_k h_kg)`` with the cell's size s and the gene's level b; each programme has its own genes,
    with weights ``h`` that are gamma distributed (and have either sign, so that genes rise and fall). Counts are
    negative binomial with variance ``a_g m^2 + b_g m``.

    Parameters
    ----------
    n_forks
        Forks of the tree; 0 is a line. See ``random_tree``.
    n_cells, n_genes, seed, uneven, nuisances
        Numbers of cells and genes; what fixes every draw; whether branches hold very different shares of the cells;
        what is switched on besides the tree.

    Returns
    -------
    AnnData of counts, with the truth; see ``annotated``.

    References
    ----------
    N. Papadopoulos, P. R. Gonzalo, J. Soeding: PROSSTT: probabilistic simulation of single-cell RNA-seq data for
    complex differentiation processes. Bioinformatics 35 (2019). Its signs, clipping and sizes are chosen here.
    """
    for_cells, for_genes, for_counts, for_nuisances = streams(seed)
    tree = random_tree(n_forks, for_cells)
    places = cells_on(tree, n_cells, for_cells, uneven=uneven)
    programmes = along_edges(_courses(tree, 5 * len(tree.edges), for_genes), places)
    shape = (programmes.shape[1], n_genes)
    weight = for_genes.gamma(0.2, 1, shape) * (for_genes.random(shape) < 0.3) * for_genes.choice([-1, 1], shape)
    level, alpha, beta = for_genes.normal((-0.5, np.log(0.2), np.log(1.2)), (1.3, 0.5, 0.3), (n_genes, 3)).T

    size = for_counts.normal(0, 0.5, n_cells)
    disturbed = disturbance(n_cells, n_genes, nuisances, for_nuisances)
    mean = np.exp(level + np.clip(programmes @ weight, -3, 3) + size[:, None] + disturbed.change)
    # variance a m^2 + b m: a gamma mixture of Poisson distributions with scale a m + b - 1
    scale = np.exp(alpha) * mean + np.maximum(np.exp(beta), 1.01) - 1
    counts = for_counts.poisson(for_counts.gamma(mean / scale, scale))
    counts = dropped_out(counts, mean, nuisances.dropout, for_nuisances)
    return annotated(counts, tree, places, disturbed, "walks")


def _courses(tree: Tree, n_programmes: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Each edge's programmes (steps, programmes), continuous at the forks."""
    at = {tree.edges[0][0]: np.zeros(n_programmes)}
    courses = []
    for (parent, child), length in zip(tree.edges, tree.lengths, strict=True):
        course = np.empty((int(STEPS * length) + 1, n_programmes))
        course[0], velocity = at[parent], rng.standard_normal(n_programmes)
        for t in range(1, len(course)):
            velocity = KEPT * velocity + np.sqrt(1 - KEPT**2) * rng.standard_normal(n_programmes)
            course[t] = course[t - 1] + velocity / STEPS
        at[child] = course[-1]
        courses.append(course)
    return courses
