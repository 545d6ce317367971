"""Pictures of stored results; every function draws on matplotlib Axes and returns them."""

from ._adjacency import adjacency
from ._composition import composition
from ._covariate import covariate
from ._dendrogram import dendrogram
from ._graph import graph
from ._graph_3d import graph_3d
from ._heatmap import heatmap
from ._objective import objective
from ._progression import progression
from ._report import report
from ._similarity import similarity
from ._stability import stability
from ._survival import survival
from ._trends import trends
from ._volcano import volcano

__all__ = [
    "adjacency",
    "composition",
    "covariate",
    "dendrogram",
    "graph",
    "graph_3d",
    "heatmap",
    "objective",
    "progression",
    "report",
    "similarity",
    "stability",
    "survival",
    "trends",
    "volcano",
]
