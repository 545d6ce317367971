"""Arrays in, frozen dataclasses out: the methods without AnnData and without plotting."""

from ._composition import BranchProgress, Composition, LineageBins, composition
from ._ddrtree import DDRTreeFit, ddrtree
from ._drtree import DRTreeFit, drtree
from ._graph import Graph
from ._join import joining_edges
from ._nodes_on import nodes_on
from ._order import Ordering, median_node, order, rank_tips, tip_at_extreme, tip_near
from ._part import Part, paths
from ._position import Position, locate
from ._principal import PrincipalFit
from ._principal_graph import principal_graph
from ._principal_tree import principal_tree
from ._skeleton import Skeleton

__all__ = [
    "BranchProgress",
    "Composition",
    "DDRTreeFit",
    "DRTreeFit",
    "Graph",
    "LineageBins",
    "Ordering",
    "Part",
    "Position",
    "PrincipalFit",
    "Skeleton",
    "composition",
    "ddrtree",
    "drtree",
    "joining_edges",
    "locate",
    "median_node",
    "nodes_on",
    "order",
    "paths",
    "principal_graph",
    "principal_tree",
    "rank_tips",
    "tip_at_extreme",
    "tip_near",
]
