"""Nodes in the space of the data."""

from __future__ import annotations

from typing import Any

from sklearn.base import OneToOneFeatureMixin

from .skeleton import SkeletonEstimator


class PrincipalEstimator(OneToOneFeatureMixin, SkeletonEstimator):
    """A skeleton in the space of the data: rows stand beside the nodes as they are."""

    def _beside_nodes(self, X: Any) -> Any:
        return X
