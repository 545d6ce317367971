"""AnnData in, stored keys out."""

from ._association import association
from ._attach import attach
from ._branch_test import branch_test
from ._cluster_trends import cluster_trends
from ._composition import composition
from ._ddrtree import ddrtree
from ._direction import direction
from ._drtree import drtree
from ._ingest import ingest
from ._mpme import mpme
from ._order import order
from ._principal_graph import principal_graph
from ._principal_tree import principal_tree
from ._prune import prune
from ._rank_genes_groups import rank_genes_groups
from ._select_path import select_path
from ._spl import spl
from ._stability import stability
from ._survival import survival
from ._trends import trends

__all__ = [
    "association",
    "attach",
    "branch_test",
    "cluster_trends",
    "composition",
    "ddrtree",
    "direction",
    "drtree",
    "ingest",
    "mpme",
    "order",
    "principal_graph",
    "principal_tree",
    "prune",
    "rank_genes_groups",
    "select_path",
    "spl",
    "stability",
    "survival",
    "trends",
]
