"""Stored keys back into objects."""

from ._graph import graph
from ._stored import stored

__all__ = ["graph", "stored"]
