"""The tree in the colours of its support: colours, names, dashes, bars."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.text import Annotation, Text

from skeltraj import get, pl, tl
from skeltraj._palette import contrast
from skeltraj.pl._drawing.support_colors import spread_cmap, support_cmap


@pytest.fixture
def judged(adata):
    tl.stability(adata, n_replicates=4)
    table = adata.uns["ddrtree"]["stability"]["branches"]
    table["support"] = np.linspace(0.2, 1.0, len(table))
    table["found_again"] = np.linspace(0.9, 0.3, len(table))
    return adata


@pytest.mark.parametrize("components", [(0, 1), (2, 1, 0)])
@pytest.mark.parametrize("support", ["branch", "edge"])
def test_edges_are_coloured_by_one_support(judged, components, support):
    ax = pl.stability(judged, components=components, cmap="viridis", support=support)
    tree = judged.uns["ddrtree"]
    drawn = next(c for c in ax.collections if isinstance(c, LineCollection))
    ends = drawn._segments3d if len(components) == 3 else drawn.get_segments()
    np.testing.assert_allclose(np.array(ends), tree["nodes"][:, components][tree["edges"]])
    tables = get.stability(judged)
    of_branch = tables.branches["support"].to_numpy()[get.graph(judged).branch_of_edge]
    np.testing.assert_array_equal(drawn.get_array(), of_branch if support == "branch" else tables.edges["support"])
    assert drawn.get_clim() == (0, 1)
    assert drawn.get_cmap().name == "viridis"
    assert [a.get_ylabel() for a in ax.child_axes] == [f"support of the {support}"]


def test_branches_are_named_with_their_support_and_dashed_below_half(judged):
    ax = pl.stability(judged, title="sure")
    table, graph = get.stability(judged).branches, get.graph(judged)
    assert len(table) >= 3
    said = {text.get_text(): text for text in ax.texts if isinstance(text, Annotation)}
    assert set(said) == {f"{name} {100 * support:.0f} %" for name, support in table["support"].items()}
    doubtful = [path for path, support in zip(graph.branches, table["support"], strict=True) if support < 0.5]
    assert 0 < len(doubtful) < len(table)
    assert len(ax.lines) == len(doubtful)
    for line, path in zip(ax.lines, doubtful, strict=True):
        np.testing.assert_allclose(line.get_xydata(), graph.nodes[path][:, :2])
        assert line.is_dashed()
    for name, path in zip(table.index, graph.branches, strict=True):
        at = next(text.xy for words, text in said.items() if words.split()[0] == name)
        along = np.concatenate([np.linspace(*graph.nodes[path[i : i + 2], :2], 200) for i in range(len(path) - 1)])
        assert np.linalg.norm(along - at, axis=1).min() < 1e-2 * np.ptp(graph.nodes[:, :2])
    ax.figure.canvas.draw()
    boxes = [Text.get_window_extent(text) for text in said.values()]
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])
    assert ax.get_title() == "sure"
    edges = pl.stability(judged, support="edge")  # says nothing of the branches but their names
    assert {text.get_text() for text in edges.texts if isinstance(text, Annotation)} == set(table.index)
    assert not edges.lines
    assert not [t for t in pl.stability(judged, labels=False).texts if isinstance(t, Annotation)]


def test_cells_are_grey_or_show_their_spread(judged):
    cells = lambda ax: next(c for c in ax.collections if isinstance(c, PathCollection))
    grey, spread = pl.stability(judged), pl.stability(judged, spread=True)
    assert cells(grey).get_array() is None
    assert len({to_hex(c) for c in cells(grey).get_facecolors()}) == 1
    np.testing.assert_array_equal(cells(spread).get_array(), np.sort(judged.obs["ddrtree_pseudotime_sd"]))
    assert {a.get_ylabel() for a in spread.child_axes} == {"sd of pseudotime", "support of the branch"}
    for ax in (spread, pl.stability(judged, spread=True, bars=True)[0]):
        ax.figure.canvas.draw()
        one, other = (bar.get_tightbbox() for bar in ax.child_axes)
        assert not one.overlaps(other)


@pytest.mark.parametrize("components", [(0, 1), (0, 1, 2)])
def test_bars_are_the_support_of_branches(judged, components):
    _, right = pl.stability(judged, bars=True, components=components)
    table = get.stability(judged).branches
    np.testing.assert_allclose([bar.get_width() for bar in right.patches], table["support"])
    np.testing.assert_allclose(right.collections[-1].get_offsets()[:, 0], table["found_again"])
    assert [bar.get_hatch() is not None for bar in right.patches] == (table["support"] < 0.5).tolist()
    colors = [bar.get_facecolor() for bar in right.patches]
    np.testing.assert_allclose(colors, support_cmap()(table["support"].to_numpy()))
    wanted = [f"{name} ({n})" for name, n in table["n_cells"].items()]
    assert [text.get_text() for text in right.get_yticklabels()] == wanted
    _, right = pl.stability(judged, bars=True, components=components, support="edge")
    assert len({to_hex(bar.get_facecolor()) for bar in right.patches}) == 1


@pytest.mark.parametrize("size", [10, 14])
def test_marks_and_labels_of_bars_are_whole(judged, size):
    judged.uns["ddrtree"]["stability"]["branches"]["found_again"] = 1.0
    with plt.rc_context({"font.size": size, "axes.labelsize": size}):  # 14 is scanpy's
        _, right = pl.stability(judged, bars=True)
        right.figure.canvas.draw()
    marks = right.collections[-1]
    assert (marks.get_offsets()[:, 0] == right.get_xlim()[1]).all()
    assert not marks.get_clip_on()
    label = right.xaxis.label.get_window_extent()
    assert right.get_xlabel().replace("\n", " ") == "support of the branch (|: share of replicates with it)"
    assert label.x1 <= right.figure.bbox.x1
    assert label.width <= right.bbox.width


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_every_support_stands_out_from_its_ground_and_from_the_others(style):
    with plt.style.context(style):
        _, ax = plt.subplots()
        behind = ax.get_facecolor()[:3]
        assert all(contrast(support_cmap()(level)[:3], behind) >= 3 for level in np.linspace(0, 1, 21))
        assert contrast(spread_cmap(ax)(0.0)[:3], behind) >= 1.4
        assert contrast(spread_cmap(ax)(1.0)[:3], behind) > 15
    # blue less yellow, which those who do not tell red from green see: it only rises
    blueness = [rgb[2] - (rgb[0] + rgb[1]) / 2 for rgb in support_cmap()(np.linspace(0, 1, 21))]
    assert (np.diff(blueness) > 0.03).all()


def test_errors(adata):
    with pytest.raises(KeyError, match="no stability is stored"):
        pl.stability(adata)
    tl.stability(adata, n_replicates=2)
    with pytest.raises(ValueError, match=r"components=\(0, 9\); the embedding has"):
        pl.stability(adata, components=(0, 9))
    with pytest.raises(ValueError, match=r"support='node' is not known. Available: \['branch', 'edge'\]"):
        pl.stability(adata, support="node")
    _, ax = plt.subplots()
    assert pl.stability(adata, ax=ax) is ax
    with pytest.raises(ValueError, match="ax was given for two panels; wanted bars=False with ax"):
        pl.stability(adata, ax=ax, bars=True)
    adata.obsm["X_umap"] = adata.X[:, :2]
    assert pl.stability(adata, basis="umap").get_xlabel() == "UMAP1"
