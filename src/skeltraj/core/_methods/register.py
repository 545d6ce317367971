"""What is true of each method, whatever it was fitted to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from skeltraj._printing import Printed
from skeltraj.core._graph.mesh import Mesh
from skeltraj.core._graph.skeleton import NodeSpace, Skeleton
from skeltraj.core._nodes.nodes_in_data import PrincipalFit
from skeltraj.core._runtime.auto import is_auto
from skeltraj.core._similarity.fit import SimilarityFit

from .ddrtree import DDRTreeFit, ddrtree
from .drtree import DRTreeFit, drtree
from .mpme import mpme
from .principal_graph import principal_graph
from .principal_tree import principal_tree
from .spl import spl


@dataclass(frozen=True, repr=False)
class Method(Printed):
    """A method, and what later steps can do with its fits.

    Parameters
    ----------
    name
        Name of its functions in `core` and `tl`, and its default key.
    label
        Its name as pictures show it, at the axes of its embedding.
    fit
        The function in `core`.
    result
        What that returns.
    arguments
        Arguments of `fit` that are among the stored parameters and with which it is fitted again, to other rows. A
        method that has some learns a tree to which rows are assigned, and its fits can be pruned (`prune`), learned
        again (`stability`), and take new rows (`ingest`): its `result` is a
        `TreeFit`, `n_nodes` and `sigma` are among them, and `fit` takes `rng`.
    length_weight
        The argument that sets the weight of the tree's length against the errors of the rows.
    weighs_rows
        Whether that argument is the weight of the rows against the length, so that the tree is longer for larger
        values.
    to_compare
        Arguments of `fit` for trees that are only compared with others, unless larger ones are given (`roughly`).
    reads_input_again
        Whether later steps read the matrix that was fitted.
    stores_assignment
        Whether the assignment of the rows to the nodes is stored; where nodes are rows it may be known without.
    """

    name: str
    label: str
    fit: Callable[..., Any]
    result: type[Skeleton]
    arguments: tuple[str, ...] = ()
    length_weight: str = ""
    weighs_rows: bool = False
    to_compare: Mapping[str, Any] = field(default_factory=dict)
    reads_input_again: bool = False
    stores_assignment: bool = True

    def roughly(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments for a tree that is only compared with others: those given, and `to_compare` where it is larger."""
        rough = dict(params)
        for name, least in self.to_compare.items():
            given = params.get(name, least)
            if is_auto(given):
                rough[name] = least
            elif isinstance(given, Real) and max(given, 0) == given:  # what is wrong is told by the fit that is kept
                rough[name] = max(given, least)
        return rough

    @property
    def can_be_relearned(self) -> bool:
        """Whether the tree can be learned again from other rows, pruned, and take new rows."""
        return bool(self.arguments)

    @property
    def learns_forest(self) -> bool:
        """Whether its edges close no loops."""
        return self.can_be_relearned or (self.nodes_are_rows and not self.joins_rows)

    @property
    def node_space(self) -> NodeSpace:
        """The space in which nodes have coordinates: that of the embedding or that of the input."""
        return self.result.node_space

    @property
    def nodes_are_rows(self) -> bool:
        """Whether every row is its own node."""
        return self.result.nodes_are_rows

    @property
    def joins_rows(self) -> bool:
        """Whether its edges are similarities between the rows, without tips and forks."""
        return issubclass(self.result.graph_type, Mesh)


# Measured in benchmarks/pages/samples.md: branches hardly change after this tolerance, and not with these weights.
_TOL_TO_COMPARE, _LEAST_WEIGHT_TO_COMPARE = 1e-4, 1e-6

_ALL = (
    Method(
        "ddrtree",
        "DDRTree",
        ddrtree,
        DDRTreeFit,
        arguments=(
            "n_components",
            "n_nodes",
            "lam",
            "sigma",
            "gamma",
            "assignment",
            "center",
            "max_iter",
            "tol",
            "extrapolate",
        ),
        length_weight="lam",
        to_compare={"tol": _TOL_TO_COMPARE, "least_weight": _LEAST_WEIGHT_TO_COMPARE},
        reads_input_again=True,
    ),
    Method("drtree", "DRTree", drtree, DRTreeFit, stores_assignment=False),
    Method(
        "principal_tree",
        "principal tree",
        principal_tree,
        PrincipalFit,
        arguments=("n_nodes", "gamma", "sigma", "assignment", "max_iter", "tol"),
        length_weight="gamma",
        weighs_rows=True,
        to_compare={"tol": _TOL_TO_COMPARE},
        reads_input_again=True,
    ),
    Method("principal_graph", "principal graph", principal_graph, PrincipalFit, reads_input_again=True),
    Method("mpme", "MPME", mpme, SimilarityFit),
    Method("spl", "SPL", spl, SimilarityFit),
)

METHODS: dict[str, Method] = {method.name: method for method in _ALL}
