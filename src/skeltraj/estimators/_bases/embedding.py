"""Nodes in an embedding of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import Tags

from .skeleton import SkeletonEstimator


class EmbeddingEstimator(ClassNamePrefixFeaturesOutMixin, SkeletonEstimator):
    """A skeleton in an embedding; may be fitted to a kernel matrix."""

    kernel: str | None

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _beside_nodes(self, X: Any) -> np.ndarray:
        return self.result_.transform(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
