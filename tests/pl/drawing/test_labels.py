"""Names on Axes: placed as the figure is drawn, whatever its size, resolution and view."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pandas as pd
import pytest
from anndata import AnnData
from matplotlib import pyplot as plt
from matplotlib.collections import PathCollection
from matplotlib.text import Text
from scipy import sparse

import skeltraj as st
from pictures import assert_texts_apart
from skeltraj import get, pl
from skeltraj.pl._drawing.labels import draw_labels, keep_free


def boxes(ax):
    """Of the names, in pixels, once the figure was drawn."""
    return {text.get_text(): Text.get_window_extent(text) for text in ax.texts if text.get_text()}


def led(ax):
    return [text for text in ax.texts if text.get_text() and text.arrow_patch.get_visible()]


@pytest.fixture(scope="module", params=["krumsiek", "2 tips", "14 tips", "40 tips"])
def tree(request):
    """Ordered cells on trees with few and many tips, a UMAP and groups."""
    rng = np.random.default_rng(0)
    if request.param == "krumsiek":
        import scanpy as sc

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            adata = sc.datasets.krumsiek11()
        adata.obs_names_make_unique()
        st.tl.ddrtree(adata, 3, n_nodes=40, n_starts=1, prune=False)
    else:
        n = int(request.param.split()[0])
        spine = np.column_stack([np.linspace(0, 3, max(n - 1, 2)), np.zeros((max(n - 1, 2), 2))])
        arms = spine[1 : n - 1] + rng.uniform([-0.2, -1, -1], [0.2, 1, 1], (n - 2, 3))
        nodes = np.r_[spine, arms]
        edges = np.r_[
            np.c_[np.arange(len(spine) - 1), np.arange(1, len(spine))],
            np.c_[np.arange(1, n - 1), len(spine) + np.arange(n - 2)],
        ]
        ends = rng.integers(len(edges), size=600)
        share = rng.random((600, 1))
        at = share * nodes[edges[ends, 0]] + (1 - share) * nodes[edges[ends, 1]] + rng.normal(0, 0.03, (600, 3))
        nearest = ((at[:, None] - nodes) ** 2).sum(axis=2).argmin(axis=1)
        adata = AnnData(
            obs=pd.DataFrame(index=[f"cell {i}" for i in range(600)]),
            obsm={"X_ddrtree": at, "ddrtree_assignment": sparse.csr_matrix(np.eye(len(nodes))[nearest])},
            uns={"ddrtree": {"nodes": nodes, "edges": edges}},
        )
    st.tl.order(adata, root=0)
    adata.obsm["X_umap"] = adata.obsm["X_ddrtree"][:, :2] @ np.array([[0.6, 0.8], [-0.8, 0.6]])
    order = adata.obs["ddrtree_pseudotime"].rank(method="first").astype(int) - 1
    adata.obs["part"] = (order * 9 // adata.n_obs).map("part {}".format).astype("category")
    return adata


DRAW = {
    "graph": lambda a: pl.graph(a, color="part"),
    "graph of panels": lambda a: pl.graph(a, color=["part", "ddrtree_pseudotime"], ncols=2)[0],
    "graph in three": lambda a: pl.graph(a, color="part", components=(0, 1, 2)),
    "graph on a UMAP": lambda a: pl.graph(a, basis="umap"),
    "dendrogram": lambda a: pl.dendrogram(a, color="part"),
    "progression": lambda a: pl.progression(a, "part"),
    "progression in three": lambda a: pl.progression(a, "part", components=(0, 1, 2)),
}


LIGHT_AND_DARK = [(name, "default") for name in DRAW] + [(name, "dark_background") for name in ("graph", "progression")]


@pytest.mark.parametrize(("name", "style"), LIGHT_AND_DARK)
def test_names_are_apart_and_in_their_axes(tree, name, style):
    with plt.style.context(style):
        ax = DRAW[name](tree)
        assert_texts_apart(ax.figure)
        graph = get.graph(tree)
        n = len(graph.node_names)
        n = n if n <= 40 else len(graph.tips)
        assert len(boxes(ax)) in ([9] if "progression" in name else [n, n + 1])  # and the root
        for box in boxes(ax).values():
            assert (np.r_[box.min, -box.max] >= np.r_[ax.bbox.min, -ax.bbox.max] - 0.5).all()


def test_the_star_of_the_root_stays_free(tree):
    for ax in (pl.graph(tree), pl.dendrogram(tree)):
        ax.figure.canvas.draw()
        star = [c for c in ax.collections if isinstance(c, PathCollection)][-1]
        at = ax.transData.transform(star.get_offsets())[0]
        assert not any(box.contains(*at) for box in boxes(ax).values())


@pytest.fixture
def drawn():
    """An Axes with a line that has two corners, and five names."""
    figure, ax = plt.subplots(figsize=(4, 3), dpi=100)
    at = np.array([[0.0, 0], [1, 0.1], [1.02, 0.12], [1, 1], [2, 1]])
    ax.plot(*at.T)
    ax.margins(0.15)
    ax.set(xticks=[], yticks=[])
    draw_labels(ax, at, ["one", "two", "three", "four", "five"], size=9)
    return figure, ax


def test_what_is_saved_is_placed_as_it_is_saved(drawn):
    figure, ax = drawn
    figure.canvas.draw()
    seen = {text.get_text(): text.xyann for text in ax.texts}
    for options in ({"dpi": 300}, {"bbox_inches": "tight"}, {"dpi": 70, "bbox_inches": "tight"}, {"format": "svg"}):
        kept = []
        draw = type(ax.texts[0]).draw

        def note(text, renderer, kept=kept, draw=draw):
            draw(text, renderer)
            kept.append((text.get_text(), Text.get_window_extent(text, renderer)))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(ax.texts[0]), "draw", note)
            figure.savefig(io.BytesIO(), **options)
        last = kept[-5:]
        assert {name for name, _ in last} == set(seen)
        assert not any(a.overlaps(b) for i, (_, a) in enumerate(last) for _, b in last[:i]), (options, last)
    figure.set_size_inches(2, 1.5)
    assert_texts_apart(figure)
    figure.set_size_inches(4, 3)
    figure.canvas.draw()
    for text in ax.texts:
        np.testing.assert_allclose(text.xyann, seen[text.get_text()], atol=0.03)


def test_names_follow_the_view():
    figure = plt.figure()
    ax = figure.add_subplot(projection="3d")
    at = np.random.default_rng(0).standard_normal((12, 3))
    ax.scatter(*at.T)
    draw_labels(ax, at, [f"name {i}" for i in range(12)], size=8)
    before = None
    for angle in (10, 100, 200):
        ax.view_init(elev=20, azim=angle)
        assert_texts_apart(figure)
        now = np.array([text.xy for text in ax.texts])
        assert before is None or np.abs(now - before).max() > 0.01
        before = now


def test_points_outside_the_view_have_no_name(drawn):
    figure, ax = drawn
    ax.set_xlim(0.5, 1.5)
    assert_texts_apart(figure)
    shown = [text.get_text() for text in ax.texts if text.get_visible()]
    assert shown == ["two", "three", "four"]


def test_letters_shrink_where_there_is_no_room_and_the_last_names_are_left_out():
    def named(side, **options):
        figure = plt.figure(figsize=(side, side))
        ax = figure.add_axes((0, 0, 1, 1))
        draw_labels(ax, np.full((12, 2), 0.5), [f"a long name {i}" for i in range(12)], size=12, **options)
        figure.canvas.draw()
        return [text for text in ax.texts if text.get_visible()]

    assert {text.get_fontsize() for text in named(5)} == {12}
    assert 5 <= named(1.5)[0].get_fontsize() < 12
    assert len(named(0.8)) == 12  # on one another: all were asked for
    few = named(0.8, optional=True)
    assert 0 < len(few) < 12
    assert "a long name 0" in [text.get_text() for text in few]
    extents = [Text.get_window_extent(text) for text in few]
    assert not any(a.overlaps(b) for i, a in enumerate(extents) for b in extents[:i])
    assert named(5, optional=True)[-1].get_text() == "a long name 11"


def test_a_size_that_someone_gave_stays(drawn):
    figure, ax = drawn
    figure.canvas.draw()
    for text in ax.texts:
        text.set_fontsize(14)
    figure.canvas.draw()
    assert {text.get_fontsize() for text in ax.texts} == {14}


def test_names_that_were_removed_are_forgotten(drawn):
    figure, ax = drawn
    ax.texts[1].remove()
    figure.canvas.draw()
    assert list(boxes(ax)) == ["one", "three", "four", "five"]


def test_a_line_leads_from_names_that_had_to_move_alone():
    _, ax = plt.subplots()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    draw_labels(ax, np.array([[0.5, 0.5]]), ["alone"], size=9)
    ax.figure.canvas.draw()
    assert not led(ax)
    for x in np.linspace(0.4, 0.6, 9):
        for y in np.linspace(0.4, 0.6, 9):
            keep_free(ax, np.array([x, y]), 9)
    ax.figure.canvas.draw()
    assert len(led(ax)) == 1
    [box] = boxes(ax).values()
    inside = ax.transData.transform([[0.4, 0.4], [0.6, 0.6]])
    assert box.x0 > inside[1, 0] or box.x1 < inside[0, 0] or box.y0 > inside[1, 1] or box.y1 < inside[0, 1]


def test_the_order_of_the_cells_changes_no_place(tree):
    other = tree[::-1].copy()
    places = []
    for adata in (tree, other):
        ax = pl.graph(adata, color="part")
        ax.figure.canvas.draw()
        places.append({text.get_text(): text.xyann for text in ax.texts})
    assert places[0] == places[1]
