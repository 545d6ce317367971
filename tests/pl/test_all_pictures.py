"""What holds for all pictures: they fit their axes and change nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from scipy import sparse

import skeltraj as st
from pictures import lines, points
from samples import cells
from skeltraj import pl


def test_an_axes_must_fit(adata):
    flat, solid = plt.figure().add_subplot(), plt.figure().add_subplot(projection="3d")
    with pytest.raises(ValueError, match=r"ax is not three-dimensional; wanted one for the components named\."):
        pl.graph(adata, components=(0, 1, 2), ax=flat)
    for draw in (pl.graph, pl.dendrogram, pl.adjacency, pl.objective):
        with pytest.raises(ValueError, match=r"ax is three-dimensional; wanted one for the components named\."):
            draw(adata, ax=solid)
    for draw in (pl.graph, pl.dendrogram):
        with pytest.raises(ValueError, match=r"ax was given for 2 panels; wanted one colour with ax, or no ax\."):
            draw(adata, color=["stage", "place"], ax=flat)
    assert not flat.collections
    assert not solid.collections
    assert pl.graph(adata, components=(0, 1, 2), ax=solid) is solid


@pytest.mark.parametrize("ncols", [0, -1, 1.5, "", "2", None])
def test_panels_beside_each_other_are_counted(adata, ncols):
    for draw in (pl.graph, pl.dendrogram):
        with pytest.raises((TypeError, ValueError), match="ncols"):
            draw(adata, color=["stage", "place"], ncols=ncols)
    assert len(pl.dendrogram(adata, color=["stage", "place"], ncols=np.uint64(1))) == 2


def test_pictures_are_drawn_within_subfigures(adata):
    figure = plt.figure(figsize=(8, 4))
    left, right = figure.subfigures(1, 2)
    flat, solid = left.add_subplot(), right.add_subplot(projection="3d")
    assert pl.dendrogram(adata, color="stage", ax=flat) is flat
    assert pl.graph(adata, color="stage", components=(0, 1, 2), ax=solid, return_fig=True) is figure
    figure.canvas.draw()


def identical(a, b):
    """Whether two stored things are the same, kind and all."""
    if hasattr(a, "keys") and not isinstance(a, pd.DataFrame):
        return list(a) == list(b) and all(identical(a[k], b[k]) for k in a)
    if isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b)
        return True
    if sparse.issparse(a):
        return type(a) is type(b) and a.shape == b.shape and (a != b).nnz == 0
    np.testing.assert_array_equal(a, b)
    return type(a) is type(b)


DRAW = {
    "graph": lambda a: pl.graph(a, color=["stage", "gene1", "number"]),
    "graph in 3-D": lambda a: pl.graph(a, color="stage", components=(0, 1, 2)),
    "dendrogram": lambda a: pl.dendrogram(a, color=["stage", "gene1"], layer="double"),
    "adjacency": lambda a: pl.adjacency(a, groupby="stage"),
    "adjacency by numbers": lambda a: pl.adjacency(a, groupby="number"),
    "objective": lambda a: pl.objective(a, log=True),
    "progression": lambda a: pl.progression(a, "stage"),
    "progression in 3-D": lambda a: pl.progression(a, "stage", components=(0, 1, 2)),
}


@pytest.mark.parametrize("name", DRAW)
def test_drawing_changes_shows_and_saves_nothing(adata, monkeypatch, name):
    def refuse(*args, **kwargs):
        raise AssertionError

    monkeypatch.setattr(plt, "show", refuse)
    monkeypatch.setattr(Figure, "show", refuse)
    monkeypatch.setattr(Figure, "savefig", refuse)
    adata.X = sparse.csr_matrix(adata.X)
    adata.obs["stage"] = adata.obs["stage"].astype(object)  # text: not to be made categories in place
    kept = adata.copy()
    DRAW[name](adata)
    [number] = plt.get_fignums()
    plt.figure(number).canvas.draw()  # and it can be drawn, without a warning
    for part in ("obs", "var", "uns", "obsm", "varm", "obsp", "varp", "layers", "X"):
        assert identical(getattr(adata, part), getattr(kept, part)), part


@pytest.mark.filterwarnings("ignore:No lineage was found")  # loops have no tips
@pytest.mark.parametrize("method", ["drtree", "principal_tree", "principal_graph"])
def test_every_skeleton_can_be_drawn(method):
    adata = cells()
    getattr(st.tl, method)(adata)
    st.tl.order(adata, root=0, key=method)
    stored = adata.uns[method]
    np.testing.assert_allclose(lines(pl.graph(adata, key=method)), stored["nodes"][stored["edges"]][:, :, :2])
    assert len(points(pl.adjacency(adata, key=method))) == 2 * len(stored["edges"])
    np.testing.assert_array_equal(pl.objective(adata, key=method).lines[0].get_ydata(), stored["objective"])
    if method != "principal_graph":  # which may have loops
        cells_drawn = points(pl.dendrogram(adata, key=method))
        np.testing.assert_allclose(np.sort(cells_drawn[:, 0]), np.sort(adata.obs[f"{method}_pseudotime"]))
