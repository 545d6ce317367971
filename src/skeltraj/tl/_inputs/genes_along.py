"""What tests and curves of genes along a tree read: the tree, places of cells, covariates, donors, the genes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from anndata import AnnData

from skeltraj import core, get
from skeltraj._keys import Keys, OrderEntry, TestEntry
from skeltraj.get._reading.checks import refuse_empty, refuse_mesh
from skeltraj.get._reading.positions import positions

from .covariates import Covariates, covariates_of
from .donors import CellGrouping, read_cell_grouping
from .stored_dispersions import stored_dispersions
from .tested_genes import Genes


@dataclass(frozen=True, eq=False)
class Along:
    """An ordered tree, the cells' places on it, and what is known of each cell beside its genes.

    Parameters
    ----------
    adata, keys
        Where the tree is stored.
    graph, root, position
        The tree, the node of its root, and the places of the cells.
    covariates, grouping
        Covariates; condition and donor. They may be none.
    n_knots
        How many knots curves have.
    """

    adata: AnnData
    keys: Keys
    graph: core.Graph
    root: int
    position: core.Position
    covariates: Covariates
    grouping: CellGrouping
    n_knots: int | str

    @classmethod
    def read(
        cls,
        adata: AnnData,
        key: str,
        function: str,
        *,
        covariates: str | Sequence[str] | None,
        condition: str | None = None,
        sample: str | None = None,
        n_knots: int | str,
    ) -> Along:
        """Read them for a `function` of `tl`; errors as those of the parts."""
        order, graph = get.ordered(adata, key), get.graph(adata, key)
        refuse_empty(adata)
        refuse_mesh(graph, key, f"skeltraj.tl.{function}")
        return cls(
            adata=adata,
            keys=Keys(key),
            graph=graph,
            root=int(order[OrderEntry.ROOT]),
            position=positions(adata, graph, key),
            covariates=covariates_of(adata, covariates, ordered_cells(adata, Keys(key))),
            grouping=read_cell_grouping(adata, condition, sample),
            n_knots=n_knots,
        )

    @property
    def usable(self) -> np.ndarray:
        """Cells with a place in the order and all covariates, (n_obs,)."""
        return np.asarray(ordered_cells(self.adata, self.keys) & self.covariates.known)

    def basis(self, used: np.ndarray) -> core.TreeBasis:
        """Curves whose knots follow the cells that are used; an error if these are none, or of one donor."""
        _refuse_none_used(used)
        self.grouping.check(used)
        return core.tree_basis(self.graph, self.position.part(used), self.n_knots)


class GenesAlong:
    """Genes along a tree, in the cells that are used: those `usable` whose condition and donor are known.

    Where none were asked for, these are all `usable` ones.

    Parameters
    ----------
    along
        The tree and the cells.
    genes
        The genes.

    Attributes
    ----------
    usable, used
        (n_obs,).
    basis
        Curves whose knots follow the cells that are used.
    """

    def __init__(self, along: Along, genes: Genes) -> None:
        self.along, self.genes, self.usable = along, genes, along.usable
        if genes.size_factors is not None:
            self.usable = self.usable & (genes.size_factors > 0)
        self.used = self.usable & along.grouping.known
        self.basis = along.basis(self.used)

    @property
    def given(self) -> dict[str, Any]:
        """Arguments that all tests and curves have, of whatever matrix."""
        return dict(size_factors=self.genes.size_factors, covariates=self.along.covariates.filled, used=self.used)

    @property
    def of_matrix(self) -> dict[str, Any]:
        """The same with those of the matrix as it is."""
        names = self.along.adata.var_names[self.genes.tested].tolist()
        return self.given | dict(family=self.genes.family, names=names)

    @property
    def stored_dispersions(self) -> np.ndarray | None:
        """Dispersions that `tl.association` stored of the same counts, (number of genes,), if any."""
        return stored_dispersions(self.along.adata, self.along.keys, self.genes, self.along.covariates, self.usable)

    @property
    def recorded(self) -> dict[str, Any]:
        """What is stored of all of them."""
        return {
            **self.genes.recorded,
            **self.along.grouping.recorded(self.usable, self.used),
            TestEntry.COVARIATES: np.array(self.along.covariates.names, dtype=str),
            TestEntry.N_GENES: len(self.genes.tested),
            TestEntry.VERSION: version("skeltraj"),
        }


def ordered_cells(adata: AnnData, keys: Keys) -> np.ndarray:
    """Cells that have a place in the order, (n_obs,)."""
    pseudotime = adata.obs[keys.pseudotime].to_numpy(dtype=np.float64)
    return np.isfinite(pseudotime) & adata.obs[keys.branch].notna().to_numpy()


def _refuse_none_used(used: np.ndarray) -> None:
    """Raise if no cell is left to be tested."""
    if not used.any():
        raise ValueError(
            f"none of {len(used)} cells can be used: each has no pseudotime, or no value of the covariates, the sample "
            "or the condition, or no counts."
        )
