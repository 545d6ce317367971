"""The methods of `skeltraj.core` as scikit-learn estimators: for pipelines, cloning, pickling and named columns."""

from ._ddrtree import DDRTree
from ._drtree import DRTree
from ._mpme import MPME
from ._principal_graph import PrincipalGraph
from ._principal_tree import PrincipalTree
from ._spl import SPL

__all__ = ["DDRTree", "DRTree", "MPME", "PrincipalGraph", "PrincipalTree", "SPL"]
