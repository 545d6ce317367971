"""Data of two kinds.

Two breast-cancer cohorts, METABRIC and TCGA-BRCA, fetched or read from files, with one vocabulary of subtypes. And
simulated shapes whose skeleton is known, as papers on such skeletons use them, with the truth in `obs`.
"""

from ._curves import circle, distorted_s, helix, spiral, zigzag
from ._metabric import metabric
from ._noisy_rings import noisy_rings
from ._tcga_brca import tcga_brca
from ._three_clusters import three_clusters
from ._twin_peaks import twin_peaks
from ._two_moons import two_moons

__all__ = [
    "circle",
    "distorted_s",
    "helix",
    "metabric",
    "noisy_rings",
    "spiral",
    "tcga_brca",
    "three_clusters",
    "twin_peaks",
    "two_moons",
    "zigzag",
]
