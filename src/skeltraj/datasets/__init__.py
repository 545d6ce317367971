"""Two breast-cancer cohorts, METABRIC and TCGA-BRCA, fetched or read from files, with one vocabulary of subtypes."""

from ._metabric import metabric
from ._tcga_brca import tcga_brca

__all__ = ["metabric", "tcga_brca"]
