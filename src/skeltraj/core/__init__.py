"""Arrays in, frozen dataclasses out: the methods without AnnData and without plotting."""

from ._branches.prune import Kept, Pruned, Removal, prune
from ._branches.starts import StartSupport
from ._branches.tips import TipChoice
from ._curves.arms import Arms
from ._curves.association import Association, association
from ._curves.branch_test import BranchTest, branch_test
from ._curves.condition_test import ConditionTest, condition_test
from ._curves.contrast import Contrast, contrast
from ._curves.placed import PlacedSkeleton
from ._curves.smooth_on import smooth_on
from ._curves.splits import SplitAssociation, split_association
from ._curves.thinning import thin_counts
from ._curves.tree_basis import TreeBasis, tree_basis
from ._curves.trends import Trends, trends
from ._graph.empty_stretches import EmptyStretch, empty_stretches
from ._graph.graph import Graph
from ._graph.join import joining_edges
from ._graph.mesh import Mesh
from ._graph.names import Names
from ._graph.nodes_on import nodes_on
from ._graph.order import Ordering, median_node, order, rank_tips, tip_at_extreme, tip_near
from ._graph.part import Part, paths
from ._graph.position import Position, at_nodes, locate
from ._graph.skeleton import Skeleton
from ._groups.composition import Composition, composition
from ._groups.direction import Direction, direction
from ._groups.lineage_bins import LineageBins
from ._groups.progress import BranchProgress
from ._groups.stretch_means import StretchMeans, stretch_means
from ._learning.denoise import denoise
from ._learning.denoised import Denoised
from ._learning.learn_tree import learn_tree
from ._learning.learned_tree import LearnedTree
from ._learning.recipe import Recipe
from ._learning.stability import Stability, stability
from ._learning.support import Support, support
from ._methods.ddrtree import DDRTreeFit, ddrtree
from ._methods.drtree import DRTreeFit, drtree
from ._methods.mpme import mpme
from ._methods.principal_graph import principal_graph
from ._methods.principal_tree import principal_tree
from ._methods.register import METHODS, Method
from ._methods.spl import spl
from ._nodes.nodes_in_data import PrincipalFit
from ._similarity.certificate import Certificate
from ._similarity.fit import SimilarityFit
from ._survival.curves import Curve
from ._survival.results import ChiSquare, CoxModel, Survival, SurvivalGroup
from ._survival.survival import survival

__all__ = [
    "Arms",
    "Association",
    "BranchProgress",
    "BranchTest",
    "Certificate",
    "ChiSquare",
    "Composition",
    "ConditionTest",
    "CoxModel",
    "Curve",
    "Contrast",
    "DDRTreeFit",
    "DRTreeFit",
    "Denoised",
    "Direction",
    "EmptyStretch",
    "Graph",
    "Kept",
    "LearnedTree",
    "LineageBins",
    "METHODS",
    "Mesh",
    "Method",
    "Names",
    "Ordering",
    "Part",
    "PlacedSkeleton",
    "Position",
    "PrincipalFit",
    "Pruned",
    "Recipe",
    "Removal",
    "SimilarityFit",
    "Skeleton",
    "SplitAssociation",
    "Stability",
    "StartSupport",
    "StretchMeans",
    "Support",
    "Survival",
    "SurvivalGroup",
    "TipChoice",
    "TreeBasis",
    "Trends",
    "association",
    "at_nodes",
    "branch_test",
    "composition",
    "condition_test",
    "contrast",
    "ddrtree",
    "denoise",
    "direction",
    "drtree",
    "empty_stretches",
    "joining_edges",
    "learn_tree",
    "locate",
    "median_node",
    "mpme",
    "nodes_on",
    "order",
    "paths",
    "principal_graph",
    "principal_tree",
    "prune",
    "rank_tips",
    "smooth_on",
    "spl",
    "split_association",
    "stability",
    "stretch_means",
    "support",
    "survival",
    "thin_counts",
    "tip_at_extreme",
    "tip_near",
    "tree_basis",
    "trends",
]
