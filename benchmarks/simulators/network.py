"""Cells of a gene network that decides between four fates, with many genes driven by it."""

from __future__ import annotations

import anndata as ad
import numpy as np
from scipy.spatial import KDTree

from simulators.cells import annotated, streams
from simulators.network_model import runs
from simulators.network_tree import fates, located, parted
from simulators.nuisances import Nuisances, disturbance, dropped_out
from simulators.random_trees import Places, cells_on

RUNS = 500
EVERY = 4  # of the states of a run can become a cell


def network(
    noise: float = 0.003,
    *,
    n_cells: int = 1000,
    n_genes: int = 1000,
    seed: int = 0,
    uneven: bool = False,
    nuisances: Nuisances = Nuisances(),
) -> ad.AnnData:
    """Cells of a network of 11 genes, which takes a progenitor to one of four fates.

    500 runs start in the progenitor. Where a run ends, by the gene that is on there, is its fate; runs that have not
    decided or took an unusual way are left out (see ``fates``). Two fates have parted at the time from which on 95 % of
    their runs are nearer to the mean course of their own fate than to the other. Average linkage of these times gives
    the tree; forks that are less than 4 % of all lengths apart are one. An edge runs along the mean course of its
    fates, which is smoothed, and is as long as that course. A state of a run lies at the nearest point of the edges on
    the way to its fate. Cells are states, drawn such that they are spread uniformly along each edge, not by time: a run
    stays at its end.

    Half of the genes are driven by one or two genes of the network: the log mean of a gene is its level plus ``sum_j
    a_j x_j^2 / (x_j^2 + t^2)``, a normal and t between 0.1 and 0.8, uniform on the scale of the logarithm. Counts are
    negative binomial with a dispersion of about 0.3.

    Parameters
    ----------
    noise
        Standard deviation of what is added to each gene of the network at each of 800 steps.
    n_cells, n_genes, seed, uneven, nuisances
        As those of ``walks``.

    Returns
    -------
    AnnData of counts, with the truth; see ``annotated``.

    References
    ----------
    J. Krumsiek, C. Marr, T. Schroeder, F. J. Theis: Hierarchical differentiation of myeloid progenitors is encoded in
    the transcription factor network. PLoS ONE 6 (2011), e22649. D. M. Wittmann et al.: Transforming Boolean models to
    continuous models. BMC Systems Biology 3 (2009), 98. F. A. Wolf, P. Angerer, F. J. Theis: SCANPY. Genome Biology 19
    (2018), 15: the equations are those of ``scanpy.tl.sim("krumsiek11")``, for all runs at once.
    """
    for_cells, for_genes, for_counts, for_nuisances = streams(seed)
    courses = runs(RUNS, for_cells, noise=noise)
    fate, decided = fates(courses)
    courses, fate = courses[decided], fate[decided]
    tree, drawn_through, ways = parted(courses, fate)
    states = courses[:, ::EVERY]
    at = located(states, fate, drawn_through, ways)
    wanted = cells_on(tree, n_cells, for_cells, uneven=uneven)
    chosen = _drawn(at, wanted, for_cells)
    state = states.reshape(-1, states.shape[2])[chosen]
    places = Places(at.edge[chosen], at.fraction[chosen])

    weight = for_genes.normal(0, 1.5, (state.shape[1], n_genes))
    for gene in range(n_genes):
        read = for_genes.choice(state.shape[1], for_genes.integers(1, 3), replace=False)
        weight[np.setdiff1d(np.arange(state.shape[1]), read), gene] = 0.0
    weight[:, for_genes.random(n_genes) < 0.5] = 0.0
    threshold = np.exp(for_genes.uniform(np.log(0.1), np.log(0.8), n_genes))
    response = np.zeros((n_cells, n_genes))
    for gene, x in enumerate(np.maximum(state, 0).T):
        response += weight[gene] * (x**2)[:, None] / ((x**2)[:, None] + threshold**2)
    level, spread = for_genes.normal((-0.2, np.log(0.3)), (1.2, 0.4), (n_genes, 2)).T

    disturbed = disturbance(n_cells, n_genes, nuisances, for_nuisances)
    size = for_counts.normal(0, 0.4, (n_cells, 1))
    mean = np.exp(level + response - response.mean(0) + size + disturbed.change)
    counts = for_counts.poisson(for_counts.gamma(np.exp(-spread), mean * np.exp(spread)))
    counts = dropped_out(counts, mean, nuisances.dropout, for_nuisances)
    return annotated(counts, tree, places, disturbed, "network")


def _drawn(at: Places, wanted: Places, rng: np.random.Generator) -> np.ndarray:
    """For each wanted place one of the ten states nearest to it on the same edge."""
    chosen = np.empty(len(wanted.edge), np.int64)
    for i in np.unique(wanted.edge):
        there, cells = np.flatnonzero(at.edge == i), np.flatnonzero(wanted.edge == i)
        k = min(10, len(there))
        near = KDTree(at.fraction[there, None]).query(wanted.fraction[cells, None], k=np.arange(1, k + 1))[1]
        chosen[cells] = there[near[np.arange(len(cells)), rng.integers(k, size=len(cells))]]
    return chosen
