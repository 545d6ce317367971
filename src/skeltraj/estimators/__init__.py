"""The methods of `skeltraj.core` as scikit-learn estimators: for pipelines, cloning, pickling and named columns."""

from ._ddrtree import DDRTree
from ._drtree import DRTree
from ._principal_graph import PrincipalGraph
from ._principal_tree import PrincipalTree

__all__ = ["DDRTree", "DRTree", "PrincipalGraph", "PrincipalTree"]
