"""The matrix of curves drawn: its values, bars, names, text that keeps apart."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import Normalize, to_hex

from genes_on_trees import cells_with_genes, comb
from pictures import assert_texts_apart
from skeltraj import get, pl, tl
from skeltraj._palette import palette
from skeltraj.pl._heatmap import _starts

pytestmark = pytest.mark.filterwarnings("ignore:.*1 of .* genes have the same value")


@pytest.fixture(scope="module")
def adata():
    adata = cells_with_genes(n_more=6)
    tl.association(adata, size_factors="factor")
    tl.trends(adata, size_factors="factor")
    tl.cluster_trends(adata, 3)
    return adata


@pytest.fixture(scope="module")
def many():
    """Eight tips and ninety genes, with long names."""
    adata = cells_with_genes(comb(8), n=900, n_more=90)
    adata.var_names = [f"{name} of a long name" if i % 3 else name for i, name in enumerate(adata.var_names)]
    tl.trends(adata)
    tl.cluster_trends(adata)
    return adata


def colors_of(ax):
    """The colours of a bar's image, column by column."""
    [image] = ax.images
    return [to_hex(c) for c in image.cmap(image.norm(np.asarray(image.get_array()))).reshape(-1, 4)]


def test_the_matrix_and_its_bars_are_those_of_get(adata):
    axes = pl.heatmap(adata, groupby="stage", n_genes=7)
    tables = get.heatmap(adata, groupby="stage", n_genes=7)
    assert set(axes) == {"genes", "branch", "pseudotime", "group"}
    np.testing.assert_array_equal(axes["genes"].images[0].get_array(), tables.matrix)
    np.testing.assert_array_equal(axes["pseudotime"].images[0].get_array()[0], tables.columns["pseudotime"])
    branch = tables.columns["branch"].astype(str)
    assert colors_of(axes["branch"]) == [palette(3)[int(b[1]) - 1].lower() for b in branch]
    stage = tables.columns["stage"].cat.codes
    assert colors_of(axes["group"]) == [["#c8c8c8", *(c.lower() for c in palette(3))][code + 1] for code in stage]
    assert [t.get_text() for t in axes["genes"].get_yticklabels()] == list(tables.matrix.index)
    assert [t.get_text() for t in axes["branch"].texts] == ["branch", "B1", "B2", "B3"]
    assert axes["branch"].get_title() == "7 of 10 genes: smallest p-values (association)"
    assert pl.heatmap(adata, "rise", title="mine")["branch"].get_title() == "mine"


def test_from_a_fork_and_along_a_lineage(adata):
    axes = pl.heatmap(adata, fork="F1", n_genes=4)
    np.testing.assert_array_equal(axes["genes"].images[0].get_array(), get.heatmap(adata, fork="F1", n_genes=4).matrix)
    assert [t.get_text() for t in axes["genes"].get_xticklabels()] == ["← to T2", "to T3 →"]
    assert len(axes["genes"].lines) == 1  # where the two ways part
    axes = pl.heatmap(adata, lineage="T3", n_genes=4)
    assert [t.get_text() for t in axes["genes"].get_xticklabels()] == ["lineage T3 →"]
    assert not axes["genes"].lines


def test_branches_of_which_no_cell_is_left(adata):
    [column] = [name for name in adata.obs if name.endswith("_branch")]
    whole = pl.heatmap(adata, fork="F1", n_genes=4)["branch"].images[0]
    few = adata[adata.obs[column] == adata.obs[column].cat.categories[0]].copy()
    left = pl.heatmap(few, fork="F1", n_genes=4)["branch"].images[0]  # AnnData forgets the names and colours of others
    colors = [to_hex(image.cmap(image.norm(code))) for image in (whole, left) for code in np.unique(image.get_array())]
    assert len(set(colors)) == 4
    assert colors[3:].count(to_hex("0.85")) == 2
    assert len(set(colors[3:]) & set(colors[:3])) == 1


def test_the_ends_and_the_middle_of_the_colour_scale(adata):
    def limits(**given):
        norm = pl.heatmap(adata, **given)["genes"].images[0].norm
        return norm.vmin, getattr(norm, "vcenter", None), norm.vmax

    values = get.heatmap(adata).matrix.to_numpy()
    assert limits() == (-2.5, None, 2.5)
    assert limits(vmin=-1, vmax="p90") == (-1.0, None, np.percentile(values, 90))
    assert limits(vcenter=0, vmax=2) == (-2.5, 0.0, 2.0)
    assert limits(norm=Normalize(-3, 4)) == (-3, None, 4)
    n_figures = len(plt.get_fignums())
    with pytest.raises(ValueError, match=r"norm and vmin were both given; wanted one of them\."):
        pl.heatmap(adata, norm=Normalize(), vmin=0)
    assert len(plt.get_fignums()) == n_figures


def test_groups_of_genes_have_a_bar(adata):
    axes = pl.heatmap(adata, sort="cluster")
    genes = get.heatmap(adata, sort="cluster").genes
    code = genes["cluster"].cat.codes
    assert colors_of(axes["cluster"]) == [["#c8c8c8", *(c.lower() for c in palette(3))][k + 1] for k in code]
    said = {t.get_text() for t in axes["cluster"].texts}
    assert said == set(genes["cluster"].dropna().astype(str))


def test_names_are_written_as_far_as_they_fit(many):
    axes = pl.heatmap(many, n_genes=75)
    assert len(axes["genes"].get_yticklabels()) == 75
    axes = pl.heatmap(many, n_genes=90)
    assert axes["branch"].get_title() == "90 of 94 genes: largest change"
    assert not axes["genes"].get_yticklabels()
    assert not pl.heatmap(many, n_genes=5, labels=False)["genes"].get_yticklabels()
    axes = pl.heatmap(many, n_genes=94, labels=True)["genes"]
    axes.figure.canvas.draw()
    names = [name.get_window_extent() for name in axes.get_yticklabels()]
    assert len(names) == 94
    assert all(abs(one.y0 - two.y0) > 0.9 * one.height for one, two in pairwise(names))


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize(
    "options",
    [
        {"groupby": "stage"},
        {"lineage": "T7", "sort": "cluster", "n_genes": 75},
        {"fork": "F3", "n_genes": 30, "groupby": "stage", "sort": "cluster"},
        {"fork": "F2", "trunk": False, "n_genes": 3, "groupby": "stage"},
    ],
)
def test_no_text_covers_another(many, style, options):
    with plt.style.context(style):
        axes = pl.heatmap(many, **options)
        assert_texts_apart(axes["genes"].figure)


def test_errors(adata):
    for options, kind, message in (
        ({"fork": "F9"}, KeyError, "fork='F9' is not on the skeleton"),
        ({"groupby": "nothing"}, KeyError, "groupby='nothing' is not in adata.obs"),
        ({"genes": ["nobody"]}, KeyError, "genes: 'nobody'"),
    ):
        with pytest.raises(kind, match=message):
            pl.heatmap(adata, **options)
    assert not plt.get_fignums()


def test_a_branch_with_the_root_inside_is_drawn_as_two():
    nodes, edges = [[0, 0], [1, 0], [2, 0], [3.5, 1.2], [3.5, -1.5]], [[0, 1], [1, 2], [2, 3], [2, 4]]
    adata = cells_with_genes((nodes, edges), root=1)
    tl.trends(adata)
    columns = get.heatmap(adata).columns
    starts = _starts(columns)
    assert columns["branch"].iloc[starts].tolist() == ["B1", "B1", "B2", "B3"]
    fork = cells_with_genes()
    tl.trends(fork)
    both = get.heatmap(fork, fork="F1").columns  # backwards to the fork, and onwards
    assert len(_starts(both)) == both["stretch"].nunique() == 2


def test_narrow_arms_have_their_bare_names():
    """Three arms beyond a fork, two of them short."""
    nodes = [[0, 0], [4, 0], [7, 2], [4.5, -0.6], [4.4, 0.6]]
    adata = cells_with_genes((nodes, [[0, 1], [1, 2], [1, 3], [1, 4]]), n=900)
    tl.trends(adata)
    axes = pl.heatmap(adata, fork="F1")
    labels = [text.get_text() for text in axes["genes"].get_xticklabels()]
    assert sorted(label[:3] for label in labels if "→" in label) == ["to ", "to "]
    assert sum(label.startswith("T") for label in labels) == 2
    assert_texts_apart(axes["genes"].figure)
