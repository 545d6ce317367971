"""The simulated sets of ``preparations.py``: kinds of trees, with nuisances, few and many genes."""

from __future__ import annotations

from collections.abc import Callable

import anndata as ad

from simulators.network import network
from simulators.nuisances import Nuisances
from simulators.paths import paths
from simulators.walks import walks

# By name: how to draw a set from a seed. The first word is the simulator.
SETS: dict[str, Callable[[int], ad.AnnData]] = {
    "network": lambda seed: network(seed=seed),
    "network noisy, dropout": lambda seed: network(0.005, n_cells=1200, seed=seed, nuisances=Nuisances(dropout=-1.0)),
    "walks cycle": lambda seed: walks(2, seed=seed, nuisances=Nuisances(cycle=0.4)),
    "walks batches": lambda seed: walks(3, n_cells=1200, seed=seed, nuisances=Nuisances(batch=0.2)),
    "walks uneven": lambda seed: walks(3, n_cells=1200, seed=seed, uneven=True),
    "paths 60 genes": lambda seed: paths(1, n_cells=800, n_genes=60, seed=seed, changing=0.5, depth=10.0),
    "paths 5000 genes": lambda seed: paths(2, n_cells=800, n_genes=5000, seed=seed),
    "arms easy 1": lambda seed: arms("easy", seed),
    "arms easy 2": lambda seed: arms("easy", seed),
    "arms medium 1": lambda seed: arms("medium", seed),
    "arms medium 2": lambda seed: arms("medium", seed),
    "walks line": lambda seed: walks(0, n_cells=600, seed=seed),
    "walks": lambda seed: walks(2, seed=seed),
    "walks dropout": lambda seed: walks(1, n_cells=800, seed=seed, nuisances=Nuisances(dropout=-0.5)),
    "paths line": lambda seed: paths(0, n_cells=600, seed=seed),
    "paths": lambda seed: paths(3, n_cells=1500, seed=seed),
    "paths dropout, cycle": lambda seed: paths(2, seed=seed, nuisances=Nuisances(cycle=0.3, dropout=-1.0)),
    "network uneven, cycle": lambda seed: network(seed=seed, uneven=True, nuisances=Nuisances(cycle=0.3)),
}


def arms(level: str, seed: int) -> ad.AnnData:
    """Four arms at one fork, by the trajectory benchmark's own simulator (its folder must be importable)."""
    import simulate

    return simulate.simulate(
        "multifurcation", n_cells=1200, n_genes=1000, difficulty=level, seed=seed, preprocess=False
    )


def drawn(name: str, seed: int) -> ad.AnnData:
    """The set of this name; the n-th of all, from 0, has the seed ``seed + 400 + n``."""
    return SETS[name](seed + 400 + list(SETS).index(name))
