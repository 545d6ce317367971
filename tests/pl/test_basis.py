"""Cells and tree on other embeddings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import PathCollection

from pictures import lines, points
from skeltraj import get, pl
from stored import same, snapshot


@pytest.fixture
def drawn(adata):
    """With an embedding that bends the first two components, in three dimensions."""
    Z = adata.obsm["X_ddrtree"]
    adata.obsm["X_umap"] = np.column_stack([Z[:, 0] ** 2 + 10, Z[:, 1], Z.sum(axis=1)]).astype(np.float32)
    adata.obsm["spatial"] = pd.DataFrame({"x": Z[:, 1], "y": 3 - Z[:, 0]}, index=adata.obs_names)
    return adata


def means(adata, name):
    R, points = adata.obsm["ddrtree_assignment"].toarray(), np.asarray(adata.obsm[name], dtype=float)
    return (R.T @ points) / R.sum(axis=0)[:, None]


@pytest.mark.parametrize(
    ("basis", "key", "components", "axes"),
    [
        ("umap", "X_umap", (0, 1), ["UMAP1", "UMAP2"]),
        ("X_umap", "X_umap", (2, 0), ["UMAP3", "UMAP1"]),
        ("umap", "X_umap", (0, 1, 2), ["UMAP1", "UMAP2", "UMAP3"]),
        ("spatial", "spatial", (1, 0), ["spatial2", "spatial1"]),
    ],
)
@pytest.mark.parametrize("smooth", [True, False])
def test_cells_and_skeleton_stand_where_the_basis_has_them(drawn, basis, key, components, axes, smooth):
    before = snapshot(drawn)
    ax = pl.graph(drawn, basis=basis, components=components, smooth=smooth)
    placed = get.skeleton_on_basis(drawn, basis, smooth=smooth)
    nodes = placed.nodes[:, components]
    np.testing.assert_allclose(points(ax), np.asarray(drawn.obsm[key])[:, components], rtol=1e-6)
    tree = drawn.uns["ddrtree"]
    np.testing.assert_allclose(lines(ax), placed.courses[:, :, components])
    np.testing.assert_allclose(lines(ax)[:, [0, -1]], nodes[tree["edges"]])
    assert lines(ax).shape[1] == (9 if smooth else 2)
    np.testing.assert_allclose(points(ax, 1)[0], nodes[tree["order"]["root"]])
    labels = [ax.get_xlabel(), ax.get_ylabel()] + ([ax.get_zlabel()] if len(components) == 3 else [])
    assert labels == axes
    if len(components) == 2:
        named = {text.get_text().strip(): text.xy for text in ax.texts}
        graph = get.graph(drawn)
        for name, node in zip(["F1", "T1", "T2", "T3"], np.r_[graph.forks, graph.tips], strict=True):
            np.testing.assert_allclose(named[name], nodes[node])
    np.testing.assert_allclose(get.nodes_on_basis(drawn, basis), means(drawn, key))
    np.testing.assert_allclose(get.skeleton_on_basis(drawn, basis, smooth=False).nodes, means(drawn, key))
    same(drawn, before)


def test_the_groups_along_the_tree_on_a_basis(drawn):
    ax = pl.progression(drawn, "stage", basis="umap")
    placed = get.skeleton_on_basis(drawn, "umap")
    nodes = placed.nodes[:, :2]
    np.testing.assert_allclose(lines(ax), placed.courses[:, :, :2])
    ordered = lambda at: at[np.lexsort(at.T)]  # cells are drawn in an order of their own
    np.testing.assert_allclose(ordered(points(ax)), ordered(drawn.obsm["X_umap"][:, :2]), rtol=1e-6)
    middles = get.groups(drawn, "stage")["node"]
    marks = [np.asarray(c.get_offsets())[0] for c in ax.collections if isinstance(c, PathCollection)][1:4]
    np.testing.assert_allclose(marks, nodes[middles])
    assert [ax.get_xlabel(), ax.get_ylabel()] == ["UMAP1", "UMAP2"]
    ax = pl.progression(drawn, "stage", basis="umap", components=(0, 1, 2), smooth=False)
    np.testing.assert_allclose(lines(ax), means(drawn, "X_umap")[drawn.uns["ddrtree"]["edges"]])


def test_the_own_embedding_by_name_is_the_own_embedding(drawn):
    for basis in ("ddrtree", "X_ddrtree"):
        ax = pl.graph(drawn, basis=basis)
        np.testing.assert_array_equal(lines(ax), drawn.uns["ddrtree"]["nodes"][:, :2][drawn.uns["ddrtree"]["edges"]])
        assert ax.get_xlabel() == "DDRTree 1"
        np.testing.assert_array_equal(get.nodes_on_basis(drawn, basis), drawn.uns["ddrtree"]["nodes"])
        np.testing.assert_array_equal(get.skeleton_on_basis(drawn, basis).nodes, drawn.uns["ddrtree"]["nodes"])
    drawn.obsm["umap"] = drawn.obsm["X_umap"][:, :2] + 50  # the exact name comes first, as for scanpy
    np.testing.assert_allclose(get.nodes_on_basis(drawn, "umap"), means(drawn, "umap"))


@pytest.mark.parametrize(
    ("basis", "name"),
    [("pca", "PC"), ("X_tsne", "tSNE"), ("diffmap", "DC"), ("draw_graph_fa", "FA"), ("X_mde", "mde")],
)
def test_axes_are_named_as_scanpy_names_them(drawn, basis, name):
    drawn.obsm[f"X_{basis.removeprefix('X_')}"] = drawn.obsm["X_umap"]
    ax = pl.graph(drawn, basis=basis)
    assert [ax.get_xlabel(), ax.get_ylabel()] == [f"{name}1", f"{name}2"]


def test_the_order_of_the_cells_does_not_matter(drawn):
    turned = drawn[np.random.default_rng(0).permutation(drawn.n_obs)].copy()
    np.testing.assert_allclose(get.nodes_on_basis(turned, "umap"), get.nodes_on_basis(drawn, "umap"), rtol=1e-12)
    courses = [get.skeleton_on_basis(cells, "umap").courses for cells in (turned, drawn)]
    np.testing.assert_allclose(*courses, rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (
            dict(basis="tsne"),
            KeyError,
            r"neither 'tsne' nor 'X_tsne' is in adata.obsm. Available: \['X_ddrtree', 'X_lo",
        ),
        (
            dict(basis="umap", components=(0, 3)),
            ValueError,
            r"components=\(0, 3\); adata.obsm\['X_umap'\] has 3: 0 to 2",
        ),
        (
            dict(basis="lost"),
            ValueError,
            r"adata.obsm\['X_lost'\] has coordinates that are NaN or infinite for 2 of 200",
        ),
        (dict(basis="words"), TypeError, r"adata.obsm\['words'\] has dtype object; wanted real numbers"),
        (dict(basis="thin"), ValueError, r"adata.obsm\['thin'\] has 1 component\(s\), too few to draw in"),
        (dict(basis="umap", smooth="no"), TypeError, "smooth='no'"),
        (dict(basis="umap", key="other"), KeyError, "no skeleton is stored"),
    ],
)
def test_errors(drawn, options, kind, message):
    drawn.obsm["X_lost"] = drawn.obsm["X_umap"].copy()
    drawn.obsm["X_lost"][[3, 8], [0, 2]] = np.nan, np.inf
    drawn.obsm["words"] = pd.DataFrame({"a": ["x"] * 200, "b": ["y"] * 200}, index=drawn.obs_names)
    drawn.obsm["thin"] = drawn.obsm["X_umap"][:, :1]
    with pytest.raises(kind, match=message):
        pl.graph(drawn, **options)
    assert not plt.get_fignums()
