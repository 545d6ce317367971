"""What the estimators share: arguments go to a function of `skeltraj.core`, its result becomes attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from skeltraj import core
from skeltraj.core._runtime import check
from skeltraj.core._runtime.warn import warn

from .validated import new_fit, validated

_ROWS_AT_ONCE = 4096  # of sparse rows that are made dense
Seed = int | np.random.RandomState | np.random.Generator | None


class SkeletonEstimator(TransformerMixin, BaseEstimator):
    """Nodes joined by edges, learned by a function of `skeltraj.core`.

    A subclass names the function and has its arguments, but for `callback` and `name`, and with `random_state` for
    `rng`.
    """

    _learn: ClassVar[Callable[..., Any]]
    nodes_: np.ndarray
    converged_: bool
    n_iter_: int

    def fit(self, X: Any, y: None = None) -> Self:
        """Learn the skeleton.

        Parameters
        ----------
        X
            Data, (n_obs, n_features), dense or sparse, at least 3 rows. It is held in memory; the functions of
            `skeltraj.core` also take dask arrays and matrices on disk.
        y
            Not used.

        Returns
        -------
        The estimator.

        Raises
        ------
        TypeError, ValueError
            If the input is not a finite matrix with at least 3 rows that differ, or a parameter is out of range.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            If the fit stopped at `max_iter`.
        """
        with new_fit(self):
            X = validated(self, X, accept_sparse="csr", ensure_min_samples=3)
            self._warn_of_input(X)
            self.result_ = type(self)._learn(X, **self._arguments())
            for name, value in self._of_result():
                setattr(self, name, value)
        if not self.converged_:
            warn(
                f"{type(self).__name__} stopped at max_iter, after {self.n_iter_} rounds, before the relative "
                "change of its objective fell to tol; increase one of them.",
                ConvergenceWarning,
            )
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Place rows, new or fitted, with the skeleton held fixed; see `transform` of the function's result.

        `fit_transform` is `fit` and then this, so that fitted and new rows are placed alike; where the fit itself left
        its rows is in `embedding_`.

        Parameters
        ----------
        X
            (n_new, n_features), dense or sparse, in the units of the data fitted.

        Returns
        -------
        float64, with a column for each dimension of `embedding_`.
        """
        X = self._new(X)
        return self.result_.transform(X)

    def predict(self, X: Any) -> np.ndarray:
        """Number of the nearest node, as the rows of `nodes_` are counted.

        Parameters
        ----------
        X
            (n_new, n_features), dense or sparse, in the units of the data fitted.

        Returns
        -------
        (n_new,), int.
        """
        points, center = self._beside_nodes(self._new(X)), self.nodes_.mean(axis=0)
        nodes, nearest = self.nodes_ - center, []
        for first in range(0, points.shape[0], _ROWS_AT_ONCE):
            part = points[first : first + _ROWS_AT_ONCE]
            part = part.toarray() if sparse.issparse(part) else part
            # around the nodes: distances come from products, which lose digits far from the origin
            nearest.append(pairwise_distances_argmin(part - center, nodes))
        return np.concatenate(nearest)

    @property
    def embedding_(self) -> np.ndarray:
        """Where the fit left its rows, (n_obs, n_components)."""
        check_is_fitted(self, "result_")
        return self.result_.embedding

    @property
    def graph_(self) -> core.Graph:
        """The skeleton as an object: tips, forks, branches."""
        check_is_fitted(self, "result_")
        return self.result_.graph

    def _warn_of_input(self, X: Any) -> None:
        """Say what speaks against a matrix as an input, before anything is learned from it."""

    def _arguments(self) -> dict[str, Any]:
        """Arguments of the function."""
        arguments = self.get_params(deep=False)
        if "random_state" in arguments:
            arguments["rng"] = _generator(arguments.pop("random_state"))
        return arguments

    def _of_result(self) -> Iterator[tuple[str, Any]]:
        """What becomes an attribute, by its name."""
        for field in fields(self.result_):
            if field.name == "loadings":  # scikit-learn calls them components, one in each row
                yield "components_", getattr(self.result_, field.name).T
            elif field.name != "embedding":  # which some results make only when asked: it can be as large as the data
                yield f"{field.name}_", getattr(self.result_, field.name)

    def _new(self, X: Any) -> Any:
        check_is_fitted(self, "result_")
        return validated(self, X, accept_sparse="csr", reset=False)

    def _beside_nodes(self, X: Any) -> Any:
        """Coordinates of rows in the space of the nodes."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _generator(seed: Seed) -> int | np.random.Generator:
    """What `skeltraj.core` takes for `rng`; an int gives there what it gives here."""
    if seed is None or seed is np.random or isinstance(seed, np.random.RandomState):  # as scikit-learn has it
        return np.random.default_rng(check_random_state(seed).randint(np.iinfo(np.int32).max))
    check.generator(seed, "random_state")
    return seed
