"""Velocity vectors as scVelo stores them, and the nodes of a skeleton in their space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from anndata import AnnData
from scipy import sparse

from skeltraj import core, get
from skeltraj.core._runtime.lazy import loaded
from skeltraj.get._reading.basis import basis_key
from skeltraj.get._reading.checks import available, one_column
from skeltraj.get._reading.tables import without_names

from .pick import entry

_PREFIX = "velocity_"  # of entries of `obsm`: velocity_umap holds vectors in the space of X_umap
_MOMENTS = "Ms"  # layer of smoothed spliced counts, along which scVelo's velocities move
_GENES = "velocity_genes"  # column of `var`


@dataclass(frozen=True)
class Velocity:
    """Vectors of the cells, the places of the nodes in their space, and how they are recorded."""

    vectors: Any  # (n_obs, n_dimensions), dense or sparse
    node_places: np.ndarray  # (n_nodes, n_dimensions)
    recorded: dict[str, str]


def velocity_of(adata: AnnData, velocity: str, basis: str | None, expression: str | None, key: str) -> Velocity:
    """The vectors that a layer or an entry of `obsm` holds.

    Raises
    ------
    KeyError
        If there is no such entry, basis or layer of expression.
    ValueError
        If the spaces do not fit together, or no gene has velocities.
    """
    if velocity in adata.layers:
        if basis is not None:
            raise ValueError(
                f"basis={basis!r} was given for adata.layers[{velocity!r}], whose space are the genes; wanted an entry "
                "of obsm, as 'velocity_umap', or no basis."
            )
        return _in_layer(adata, velocity, expression, key)
    if velocity not in adata.obsm:
        raise KeyError(
            f"velocity={velocity!r} is neither in adata.layers nor in adata.obsm. Layers: {available(adata.layers)}. "
            f"obsm: {available(adata.obsm)}."
        )
    if expression is not None:
        raise ValueError(
            f"expression={expression!r} was given for adata.obsm[{velocity!r}]; wanted basis=, the name of the "
            "embedding in whose space the vectors are."
        )
    return _in_obsm(adata, velocity, basis, key)


def _in_layer(adata: AnnData, velocity: str, expression: str | None, key: str) -> Velocity:
    """Vectors in the space of the genes that have velocities."""
    if expression is None:
        expression = _MOMENTS if _MOMENTS in adata.layers else "X"
    values = adata.X if expression == "X" else entry(adata, "layers", expression, "expression")
    if values is None:
        raise ValueError(f"adata.X is None. Name the layer of expression: layers are {available(adata.layers)}.")
    vectors = _in_memory(adata.layers[velocity])
    genes = _has_values(vectors)
    if _GENES in adata.var:
        genes &= _velocity_genes(adata)
    if not genes.any():
        chosen = f" among those of adata.var[{_GENES!r}]" if _GENES in adata.var else ""
        raise ValueError(
            f"adata.layers[{velocity!r}] holds NaN for every gene{chosen}; wanted velocities of some of "
            f"{adata.n_vars} genes."
        )
    graph, assignment = get.graph(adata, key), get.assignment(adata, key)
    # nodes stand at the means of their cells: summed first, so that no dense copy of the expression is made
    mass = np.asarray(assignment.sum(axis=0)).ravel()
    sums = sparse.csr_matrix(assignment.T) @ _in_memory(values)[:, genes]
    sums = np.asarray(sums.toarray() if sparse.issparse(sums) else sums, dtype=np.float64)
    means = sums / np.where(mass > 0, mass, 1)[:, None]
    if not np.isfinite(means).all():
        raise ValueError(f"expression={expression!r} holds NaN or infinite values; wanted finite numbers.")
    places = core.nodes_on(graph, sparse.diags(mass, format="csr"), means)
    return Velocity(vectors[:, genes], places, dict(velocity=velocity, expression=expression))


def _in_obsm(adata: AnnData, velocity: str, basis: str | None, key: str) -> Velocity:
    """Vectors in the space of an embedding."""
    if basis is None:
        basis = velocity.removeprefix(_PREFIX)
        if basis == velocity:
            raise ValueError(
                f"velocity={velocity!r} does not say in which space its vectors are; wanted a name that begins with "
                f"{_PREFIX!r}, or basis=, an embedding. Available: {available(adata.obsm)}."
            )
    name = basis_key(adata, basis)
    vectors = _in_memory(without_names(entry(adata, "obsm", velocity, "velocity")))
    places = get.nodes_on_basis(adata, basis, key)
    if vectors.shape[1] != places.shape[1]:
        raise ValueError(
            f"adata.obsm[{velocity!r}] has {vectors.shape[1]} columns and adata.obsm[{name!r}] {places.shape[1]}; "
            "wanted vectors in the space of the basis."
        )
    return Velocity(vectors, places, dict(velocity=velocity, basis=basis))


def _velocity_genes(adata: AnnData) -> np.ndarray:
    """Which genes scVelo kept, (n_vars,)."""
    column = one_column(adata.var, _GENES, "velocity", "adata.var")
    wrong = np.array([not isinstance(value, bool | np.bool_) for value in column])  # of missing ones bool(NaN) is True
    if wrong.any():
        raise ValueError(
            f"velocity: adata.var[{_GENES!r}] holds {column[wrong].iloc[0]!r} for {int(wrong.sum())} of {len(column)} "
            f"genes, such as {str(column.index[wrong][0])!r}; wanted True or False for each gene."
        )
    return column.to_numpy(dtype=bool)


def _in_memory(matrix: Any) -> Any:
    matrix = loaded(matrix)
    return matrix.tocsr() if sparse.issparse(matrix) else np.asarray(matrix)


def _has_values(vectors: Any) -> np.ndarray:
    """Which columns hold a number for some cell: scVelo has NaN for genes without velocities."""
    if sparse.issparse(vectors):
        n_nan = np.bincount(vectors.indices[np.isnan(vectors.data)], minlength=vectors.shape[1])
        return n_nan < vectors.shape[0]
    return ~np.isnan(vectors).all(axis=0)
