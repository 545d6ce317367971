"""Stored keys back into objects and tables."""

from ._assignment import assignment
from ._association import association
from ._branch_test import branch_test
from ._composition import CompositionTables, composition
from ._covariate import CovariateTables, covariate
from ._direction import DirectionTables, direction
from ._graph import graph
from ._groups import groups
from ._heatmap import HeatmapTables, heatmap
from ._networkx import networkx
from ._nodes_on_basis import nodes_on_basis
from ._ordered import ordered
from ._reading.close_calls import CloseCall
from ._skeleton_on_basis import skeleton_on_basis
from ._stability import StabilityTables, stability
from ._stored import stored
from ._summary import Summary, summary
from ._survival import SurvivalTables, survival
from ._to_scfates import to_scfates
from ._to_treedata import to_treedata
from ._trajectory_tables import TrajectoryTables, trajectory_tables
from ._trends import trends

__all__ = [
    "CloseCall",
    "CompositionTables",
    "CovariateTables",
    "DirectionTables",
    "HeatmapTables",
    "StabilityTables",
    "Summary",
    "SurvivalTables",
    "TrajectoryTables",
    "assignment",
    "association",
    "branch_test",
    "composition",
    "covariate",
    "direction",
    "graph",
    "groups",
    "heatmap",
    "networkx",
    "nodes_on_basis",
    "ordered",
    "skeleton_on_basis",
    "stability",
    "stored",
    "summary",
    "survival",
    "to_scfates",
    "to_treedata",
    "trajectory_tables",
    "trends",
]
