"""Stored keys back into objects and tables."""

from ._assignment import assignment
from ._composition import CompositionTables, composition
from ._graph import graph
from ._groups import groups
from ._networkx import networkx
from ._stored import ordered, stored
from ._trajectory_tables import TrajectoryTables, trajectory_tables

__all__ = [
    "CompositionTables",
    "TrajectoryTables",
    "assignment",
    "composition",
    "graph",
    "groups",
    "networkx",
    "ordered",
    "stored",
    "trajectory_tables",
]
