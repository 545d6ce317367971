"""Arrays in, frozen dataclasses out: the methods without AnnData and without plotting."""

from ._ddrtree import DDRTreeFit, ddrtree
from ._graph import Graph
from ._order import Ordering, median_node, order, rank_tips, tip_at_extreme, tip_near
from ._position import Position, locate

__all__ = [
    "DDRTreeFit",
    "Graph",
    "Ordering",
    "Position",
    "ddrtree",
    "locate",
    "median_node",
    "order",
    "rank_tips",
    "tip_at_extreme",
    "tip_near",
]
