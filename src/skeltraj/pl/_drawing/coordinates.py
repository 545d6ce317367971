"""Where the cells and the skeleton are drawn, and the labels of the axes."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np
from anndata import AnnData

from skeltraj import get
from skeltraj._keys import Keys
from skeltraj.core import METHODS, PlacedSkeleton
from skeltraj.core._runtime import check
from skeltraj.get._reading.basis import basis_key, on_basis
from skeltraj.get._reading.coordinates import cells_in_embedding


def coordinates(
    adata: AnnData, key: str, basis: str | None, components: Sequence[int], *, smooth: bool = True
) -> tuple[np.ndarray, PlacedSkeleton, list[str]]:
    """The cells and the skeleton in a basis, in the components to draw, and the labels of these."""
    check.flag(smooth, "smooth")
    own = Keys(key).coordinates
    if basis is None or basis_key(adata, basis) == own:
        graph = get.graph(adata, key)
        columns = component_columns(components, graph.nodes.shape[1], "the embedding")
        placed = PlacedSkeleton.straight(graph, graph.nodes[:, columns])
        return cells_in_embedding(adata, key, graph.nodes)[:, columns], placed, component_labels(key, columns)
    points = on_basis(adata, basis)
    columns = component_columns(components, points.shape[1], f"adata.obsm[{basis_key(adata, basis)!r}]")
    placed = get.skeleton_on_basis(adata, basis, key, smooth=smooth).part(columns)
    return points[:, columns], placed, basis_labels(basis, columns)


def listed_components(components: Sequence[int]) -> list[int]:
    """Two or three different whole numbers."""
    if not check.is_list(components) or not all(isinstance(c, Integral) for c in components):
        raise TypeError(f"components={components!r}; wanted two or three whole numbers, counted from 0, as (0, 2).")
    columns = [int(c) for c in components]
    if len(columns) not in (2, 3) or len(set(columns)) != len(columns):
        raise ValueError(f"components={tuple(columns)}; wanted two or three different ones.")
    return columns


def component_columns(components: Sequence[int], available: int, where: str) -> list[int]:
    """The components to draw, checked."""
    columns = listed_components(components)
    if available < 2:
        raise ValueError(
            f"{where} has {available} component(s), too few to draw in; wanted a basis= with two or more, or "
            "skeltraj.pl.dendrogram, which needs none."
        )
    if min(columns) < 0 or max(columns) >= available:
        raise ValueError(f"components={tuple(columns)}; {where} has {available}: 0 to {available - 1}.")
    return columns


def component_labels(key: str, columns: Sequence[int]) -> list[str]:
    """Labels of the axes in the embedding of a fit."""
    name = METHODS[key].label if key in METHODS else key
    return [f"{name} {c + 1}" for c in columns]


def basis_labels(basis: str, columns: Sequence[int]) -> list[str]:
    """Labels of the axes in another basis, as scanpy prints them: "UMAP1"."""
    bare = basis.removeprefix("X_")
    name = {"umap": "UMAP", "tsne": "tSNE", "pca": "PC", "diffmap": "DC"}.get(bare, bare)
    if bare.startswith("draw_graph_"):
        name = bare.removeprefix("draw_graph_").upper()
    return [f"{name}{c + 1}" for c in columns]
