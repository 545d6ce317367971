"""`skeltraj.core` as scikit-learn estimators, for pipelines, cloning, pickling and named columns.

`TreeLearner` is the whole recipe of `skeltraj.tl.ddrtree`: denoise, fit, prune. The others are one method each.
"""

from ._ddrtree import DDRTree
from ._drtree import DRTree
from ._mpme import MPME
from ._principal_graph import PrincipalGraph
from ._principal_tree import PrincipalTree
from ._spl import SPL
from ._tree_learner import TreeLearner

__all__ = ["DDRTree", "DRTree", "MPME", "PrincipalGraph", "PrincipalTree", "SPL", "TreeLearner"]
