"""Public data sets, ready to be analysed."""

from skeltraj.datasets._breast_cancer import metabric, tcga_brca

__all__ = ["metabric", "tcga_brca"]
