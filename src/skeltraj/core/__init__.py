"""Arrays in, frozen dataclasses out: the methods without AnnData and without plotting."""

from ._certificate import Certificate
from ._composition import BranchProgress, Composition, LineageBins, composition
from ._ddrtree import DDRTreeFit, ddrtree
from ._denoise import Denoised, denoise
from ._drtree import DRTreeFit, drtree
from ._graph import Graph
from ._join import joining_edges
from ._mesh import Mesh
from ._mpme import mpme
from ._nodes_on import nodes_on
from ._order import Ordering, median_node, order, rank_tips, tip_at_extreme, tip_near
from ._part import Part, paths
from ._position import Position, at_nodes, locate
from ._principal import PrincipalFit
from ._principal_graph import principal_graph
from ._principal_tree import principal_tree
from ._prune import Pruned, Removal, prune
from ._recipe import Recipe
from ._similarity import SimilarityFit
from ._skeleton import Skeleton
from ._spl import spl
from ._stability import Stability, stability

__all__ = [
    "BranchProgress",
    "Certificate",
    "Composition",
    "DDRTreeFit",
    "DRTreeFit",
    "Denoised",
    "Graph",
    "LineageBins",
    "Mesh",
    "Ordering",
    "Part",
    "Position",
    "PrincipalFit",
    "Pruned",
    "Recipe",
    "Removal",
    "SimilarityFit",
    "Skeleton",
    "Stability",
    "at_nodes",
    "composition",
    "ddrtree",
    "denoise",
    "drtree",
    "joining_edges",
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
    "spl",
    "stability",
    "tip_at_extreme",
    "tip_near",
]
