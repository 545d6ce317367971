from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import Tags

from skeltraj import core
from skeltraj._docs import texts_of
from skeltraj.core._data.counts import largest_count
from skeltraj.core._runtime.warn import warn
from skeltraj.estimators._bases.skeleton import Seed, SkeletonEstimator

# arguments of `core.learn_tree` that are neither of a method nor of the estimator
_NOT_OF_METHODS = ("X", "callback", "step", "count", "name")


@texts_of(core.learn_tree)
class TreeLearner(ClassNamePrefixFeaturesOutMixin, SkeletonEstimator):
    """A tree by the whole recipe: rows are denoised, the tree is fitted from several starts, and pruned.

    This is what `skeltraj.tl.ddrtree` and `skeltraj.tl.principal_tree` do with cells, by their defaults; for the same
    matrix the tree is the same. `DDRTree` and `PrincipalTree` are the fit alone. See `skeltraj.core.learn_tree`.

    `transform` denoises rows as those fitted and gives where the tree holds them; `predict` gives their nearest node,
    `predict_branch` their branch.

    Parameters
    ----------
    <method>
    n_components
        Dimensions of DDRTree's embedding; or, between 0 and 1, the share of the variance that the leading principal
        components must keep, which sets them. "auto": 20, or as many as the data have. "principal_tree" has no
        embedding of its own, and does not look at it.
    <denoise>
    n_nodes
        Nodes of the tree before pruning. "auto": about 100, growing slowly with the number of rows. "all" or None: one
        per row.
    <n_starts>
    <prune>
    method_params
        Further arguments of the method's function, as ``{"sigma": 0.1, "max_iter": 500}``; see `DDRTree` and
        `PrincipalTree`.
    <random_state>

    Attributes
    ----------
    embedding_
        Where the fitted rows lie among the nodes, (n_obs, n_components); for "principal_tree" in the columns of the
        data.
    nodes_
        Nodes of the tree that is left, (n_nodes, n_components).
    edges_
        Pairs of nodes that it joins, (n_nodes - 1, 2).
    <assignment_>
    branch_
        Branch of each fitted row, (n_obs,): a number in the order of ``graph_.branches``.
    agreement_
        Of each start, how much its tree is like those of the others, (n_starts,): far below 1, the data do not settle
        the tree. None: there were no others, as with one start and without pruning.
    pruning_
        What was pruned, a :class:`skeltraj.core.Pruned`. None: nothing was tried.
    recipe_
        The steps with their parameters as resolved, by which :func:`skeltraj.core.stability` learns the tree again.
    objective_, converged_, n_iter_, params_, graph_
        As in `DDRTree`, of the fit from the start that was taken.
    result_
        The :class:`skeltraj.core.LearnedTree` from which all of these come.
    n_features_in_, feature_names_in_
        As in `DDRTree`.

    References
    ----------
    Mao, Wang, Goodison, Sun. Dimensionality reduction via graph structure learning. KDD 2015.
    Mao, Wang, Tsang, Sun. Principal graph and structure learning based on reversed graph embedding. TPAMI 2017.

    Examples
    --------
    >>> import skeltraj as st
    >>> from skeltraj.estimators import TreeLearner
    >>> X = st.datasets.distorted_s(150).X
    >>> tree = TreeLearner().fit(X)
    >>> tree.embedding_.shape
    (150, 2)
    >>> set(tree.predict_branch(X[:5])) <= set(range(len(tree.graph_.branches)))
    True
    """

    _learn = staticmethod(core.learn_tree)

    def __init__(
        self,
        method: str = "ddrtree",
        *,
        n_components: int | float | Literal["auto"] = "auto",
        denoise: int | bool | Mapping[str, int | Literal["auto"]] | Literal["auto"] = "auto",
        n_nodes: int | Literal["auto", "all"] | None = "auto",
        n_starts: int | Literal["auto"] = "auto",
        prune: bool | Mapping[str, float] | Literal["auto"] = "auto",
        method_params: Mapping[str, Any] | None = None,
        random_state: Seed = 0,
    ) -> None:
        self.method = method
        self.n_components = n_components
        self.denoise = denoise
        self.n_nodes = n_nodes
        self.n_starts = n_starts
        self.prune = prune
        self.method_params = method_params
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:
        """Learn the tree; as in `DDRTree`, and warn of what speaks against it.

        Parameters
        ----------
        X
            Data, (n_obs, n_features), dense or sparse, at least 3 rows.
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
        UserWarning
            If `X` looks like raw counts. If trees from other starts and from parts of the rows differ, most of them
            lack a branch, or they leave the number of tips in doubt; for a line, if they order the rows differently, or
            its ends are near each other (`result_.doubt`).
        sklearn.exceptions.ConvergenceWarning
            If the fit stopped at `max_iter`.
        """
        super().fit(X, y)
        if self.result_.doubt is not None:
            warn(f"{type(self).__name__}: {self.result_.doubt}")
        return self

    def predict_branch(self, X: Any) -> np.ndarray:
        """Branch of the nearest point of the tree, a number in the order of ``graph_.branches``.

        Parameters
        ----------
        X
            (n_new, n_features), dense or sparse, in the units of the data fitted.

        Returns
        -------
        (n_new,), int.
        """
        return self._branches(self.transform(X))

    @property
    def branch_(self) -> np.ndarray:
        """Branch of each fitted row, (n_obs,): a number in the order of ``graph_.branches``."""
        return self._branches(self.embedding_)

    @property
    def _n_features_out(self) -> int:
        return self.nodes_.shape[1]

    def _branches(self, points: np.ndarray) -> np.ndarray:
        return self.graph_.branch_of_edge[core.locate(self.graph_, points).edge]

    def _warn_of_input(self, X: Any) -> None:
        largest = largest_count(X)
        if largest is not None:
            warn(
                f"{type(self).__name__}: X looks like raw counts (whole numbers, up to {largest:,.0f} in the rows "
                "examined). Rows then differ mostly by their totals and by a few high columns: try to divide each row "
                "by its total and to take logarithms (log(1 + x)) first."
            )

    def _arguments(self) -> dict[str, Any]:
        arguments = super()._arguments()
        more = arguments.pop("method_params")
        if more is not None and not isinstance(more, Mapping):
            raise TypeError(f"method_params={more!r} is a {type(more).__name__}; wanted a dict or None.")
        both = [name for name in more or {} if name in arguments]
        if both:
            raise ValueError(f"method_params holds {both}; wanted as arguments of {type(self).__name__}.")
        others = [name for name in more or {} if not isinstance(name, str) or name in _NOT_OF_METHODS]
        if others:
            raise ValueError(f"method_params holds {others}; wanted further arguments of the method's function.")
        of_method = core.METHODS.get(arguments["method"])
        if of_method is not None and "n_components" not in of_method.arguments:
            del arguments["n_components"]
        return arguments | dict(more or {})

    def _of_result(self) -> Iterator[tuple[str, Any]]:
        fit = self.result_.fit
        for name in ("nodes", "edges", "assignment", "objective", "converged", "n_iter", "params"):
            yield f"{name}_", getattr(fit, name)
        for name in ("agreement", "pruning", "recipe"):
            yield f"{name}_", getattr(self.result_, name)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        given = self.method_params
        tags.input_tags.pairwise = isinstance(given, Mapping) and given.get("kernel") == "precomputed"
        return tags

    def _beside_nodes(self, X: Any) -> np.ndarray:
        return self.result_.transform(X)
