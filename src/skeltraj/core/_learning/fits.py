"""The fits that a learned tree is made of: of all rows, of parts of them, and of samples."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from skeltraj.core._methods.register import Method
from skeltraj.core._nodes.settings import n_nodes_of
from skeltraj.core._solvers.descent import Callback


@dataclass(frozen=True, eq=False)
class Fits:
    """Fits by a method.

    Parameters
    ----------
    method, params
        The method, and its parameters for all rows.
    n_obs
        How many rows these are.
    samples, n_nodes
        Sizes of the samples, of which there may be none, and how many nodes their trees have.
    """

    method: Method
    params: dict[str, Any]
    n_obs: int
    samples: list[int]
    n_nodes: int

    def whole(self, matrix: Any, callback: Callback | None, rng: Any, init: Any = None) -> Any:
        """A fit of all rows; with `init` it begins there."""
        more = {} if init is None else {"init": init}
        return self.method.fit(matrix, **(self.params | more), rng=rng, callback=callback)

    def part(self, matrix: Any, callback: Callback | None, rng: Any, init: Any = None) -> Any:
        """A fit of some of the rows, to be compared with others."""
        return self.method.fit(matrix, **self._to_compare(matrix.shape), rng=rng, callback=callback)

    def sample(self, matrix: Any, callback: Callback | None, rng: Any, init: Any = None) -> Any:
        """A fit of a sample, to be compared with others; with `init` that which goes on there."""
        if init is None:
            params = self._to_compare(matrix.shape, self.n_nodes) | {"n_nodes": self.n_nodes}
        else:
            params = self._of_some(matrix.shape, self.n_nodes) | {"init": init}
        return self.method.fit(matrix, **params, rng=rng, callback=callback)

    def _to_compare(self, shape: tuple[int, int], n_nodes: int | None = None) -> dict[str, Any]:
        of_some = self._of_some(shape, n_nodes)
        # without samples all fits are alike, and one of them is the result
        return self.method.roughly(of_some) if self.samples else of_some

    def _of_some(self, shape: tuple[int, int], n_nodes: int | None = None) -> dict[str, Any]:
        """Arguments for some of the rows: no start is given, and few rows span fewer dimensions and have fewer nodes.

        The length of the tree weighs as much against their errors as against those of all rows. `n_nodes`: how many
        nodes their tree will have, if that does not follow from the arguments.
        """
        params, method = self.params, self.method
        of_some = {name: value for name, value in params.items() if name != "init"}
        if self._n_given is not None:
            of_some["n_nodes"] = self._n_given
        for name, most in (("n_components", min(shape[0] - 1, shape[1])), ("n_nodes", shape[0])):
            if isinstance(of_some.get(name), Integral):
                of_some[name] = min(of_some[name], most)
        weight = params.get(method.length_weight)
        if isinstance(weight, Real) and 0 < float(weight) < np.inf:  # what is wrong is told as it was given
            share = self._share(shape[0], of_some.get("n_nodes", "auto") if n_nodes is None else n_nodes)
            of_some[method.length_weight] = weight / share if method.weighs_rows else weight * share
        return of_some

    def _share(self, n_obs: int, n_nodes: Any) -> float:
        """What the weight is multiplied by for so many rows and nodes: as default weights differ, so do given ones.

        Those are proportional to the rows of a node; those of presets, whatever the number of nodes, to the rows.
        """
        share = n_obs / self.n_obs
        if self.params.get("preset") is not None:
            return share
        of_all = self.params.get("n_nodes", "auto") if self._n_given is None else self._n_given
        return share * n_nodes_of(of_all, self.n_obs) / n_nodes_of(n_nodes, n_obs)

    @property
    def _n_given(self) -> int | None:
        """How many nodes a given start has; None: it has none, or they are no such matrix, which the fit says."""
        init = self.params.get("init")
        nodes: Any = getattr(init, "nodes", init if self.method.node_space == "input" else None)
        if isinstance(init, tuple):
            nodes = init[1] if len(init) == 2 else None
        shape = nodes.shape if hasattr(nodes, "shape") else np.asarray(nodes, dtype=object).shape
        return int(shape[0]) if len(shape) == 2 and shape[0] >= 2 else None
