"""What the estimators share that learn similarities of the rows."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skeltraj import core
from skeltraj.core._runtime.warn import warn

from .validated import new_fit, validated


class SimilarityEstimator(BaseEstimator):
    """Rows embedded by similarities that are learned with them: new rows have none, so there is no `transform`."""

    def fit(self, X: Any, y: None = None) -> Self:
        """Learn the similarities and the embedding.

        Parameters
        ----------
        X
            Data, (n_obs, n_features), dense or sparse, at least 3 rows; or what `metric` says.
        y
            Not used.

        Returns
        -------
        The estimator.

        Raises
        ------
        TypeError, ValueError
            If the input is not usable or a parameter is out of range.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            If the maximum was not proved to `tol`.
        """
        sparse: Any = "csr" if self._takes_rows else False
        with new_fit(self):
            X = validated(self, X, accept_sparse=sparse, ensure_min_samples=3)
            self.result_ = self._learned(X)
            for field in fields(self.result_):
                setattr(self, f"{field.name}_", getattr(self.result_, field.name))
        if not self.result_.converged:
            warn(
                f"{type(self).__name__} stopped after {self.result_.n_iter} steps with its maximum not proved (duality "
                f"gap {self.result_.certificate.duality_gap:.1e}); increase max_iter or tol.",
                ConvergenceWarning,
            )
        return self

    def fit_transform(self, X: Any, y: None = None) -> np.ndarray:
        """`fit`, then `embedding_`, (n_obs, n_components)."""
        return self.fit(X).embedding_

    @property
    def embedding_(self) -> np.ndarray:
        """The rows in the embedding, (n_obs, n_components)."""
        check_is_fitted(self, "result_")
        return self.result_.embedding

    @property
    def similarity_(self) -> Any:
        """Learned similarities, CSR, symmetric, (n_obs, n_obs)."""
        check_is_fitted(self, "result_")
        return self.result_.similarity

    @property
    def graph_(self) -> core.Graph:
        """The rows, joined where they are similar."""
        check_is_fitted(self, "result_")
        return self.result_.graph

    @property
    def _takes_rows(self) -> bool:
        return True

    @property
    def _takes_distances(self) -> bool:
        return False

    def _learned(self, X: Any) -> core.SimilarityFit:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_rows
        tags.input_tags.pairwise = not self._takes_rows
        tags.input_tags.positive_only = self._takes_distances
        return tags
