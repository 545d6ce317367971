"""What has nothing to do with the tree and can be switched on: cell cycle, batches, dropout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Nuisances:
    """How strong each is; with the default there is none.

    Parameters
    ----------
    cycle
        Standard deviation, on the scale of the log mean, of a circular programme: with the phase p of a cell, uniform
        on the circle, and the phase q of a gene's peak, the log mean changes by ``sqrt(2) cycle cos(p - q)``.
    cycle_share
        Share of the genes that follow the cycle.
    batch
        Standard deviation of the genes' shifts between batches, on the scale of the log mean.
    n_batches
        Number of batches; a cell's batch is drawn uniformly.
    dropout
        Log mean at which half of the counts are lost, with the logistic curve of splatter (its ``dropout.mid`` with
        ``dropout.shape`` -1); None: none are.
    """

    cycle: float = 0.0
    cycle_share: float = 0.15
    batch: float = 0.0
    n_batches: int = 2
    dropout: float | None = None


@dataclass(frozen=True)
class Disturbance:
    """Changes of the log means (n, genes), and what they come from: phase (n,), batch (n,)."""

    change: np.ndarray
    phase: np.ndarray
    batch: np.ndarray


def disturbance(n_cells: int, n_genes: int, nuisances: Nuisances, rng: np.random.Generator) -> Disturbance:
    """Cell cycle and batches as changes of the log means; the same draws whatever is switched on."""
    phase, peak = rng.uniform(0, 2 * np.pi, n_cells), rng.uniform(0, 2 * np.pi, n_genes)
    cycling = rng.random(n_genes) < nuisances.cycle_share
    batch = rng.integers(nuisances.n_batches, size=n_cells)
    shift = rng.standard_normal((nuisances.n_batches, n_genes))
    change = np.sqrt(2) * nuisances.cycle * cycling * np.cos(phase[:, None] - peak)
    return Disturbance(change + nuisances.batch * shift[batch], phase, batch)


def dropped_out(counts: np.ndarray, mean: np.ndarray, dropout: float | None, rng: np.random.Generator) -> np.ndarray:
    """Counts with some set to 0: with probability ``1 / (1 + mean / exp(dropout))`` (Zappia et al. 2017)."""
    if dropout is None:
        return counts
    lost = rng.random(counts.shape) * (1 + mean / np.exp(dropout)) < 1
    return np.where(lost, 0, counts)
