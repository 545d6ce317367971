"""AnnData in, stored keys out."""

from ._ddrtree import ddrtree
from ._order import order

__all__ = ["ddrtree", "order"]
