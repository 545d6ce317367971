"""Changes against their q-values: places, colours, names that keep apart."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex

from genes_on_trees import cells_with_genes, comb
from pictures import assert_texts_apart
from skeltraj import get, pl, tl
from skeltraj._palette import palette

pytestmark = pytest.mark.filterwarnings("ignore:.*1 of .* genes have the same value")


@pytest.fixture(scope="module")
def adata():
    adata = cells_with_genes(n_more=20)
    tl.association(adata, size_factors="factor")
    tl.branch_test(adata, size_factors="factor")
    tl.branch_test(adata, between=("root", "T2"), size_factors="factor")
    adata.var["symbol"] = [f"S{i}" for i in range(adata.n_vars)]
    return adata


def dots(ax):
    """Points by their colour."""
    drawn = [artist for artist in ax.collections if isinstance(artist, PathCollection)]
    return {
        to_hex(artist.get_facecolor()[0]): np.asarray(artist.get_offsets())
        for artist in drawn
        if len(artist.get_offsets())
    }


def ordered(points):
    return points[np.lexsort(points.T)]


def test_association_by_whether_genes_rise(adata):
    ax = pl.volcano(adata)
    table = get.association(adata).dropna(subset="pvals")
    wanted = np.column_stack([table["logfoldchanges"], -np.log10(table["pvals_adj"])])
    clear = (table["pvals_adj"] <= 0.05).to_numpy()
    rises = wanted[:, 0] >= 0
    drawn = dots(ax)
    for color, which in (("#d55e00", clear & rises), ("#0072b2", clear & ~rises), ("#c8c8c8", ~clear)):
        np.testing.assert_allclose(ordered(drawn[color]), ordered(wanted[which]))
    assert ax.get_title() == f"{len(table)} genes, {clear.sum()} with q ≤ 0.05 along the tree"
    assert ax.get_xlabel() == "largest log2 fold change from the root"
    assert [t.get_text() for t in ax.texts] == list(table["names"].head(12))


def test_two_arms_by_which_is_up(adata):
    ax = pl.volcano(adata, "F1", n_labels=2, gene_symbols="symbol")
    table = get.branch_test(adata, "F1", gene_symbols="symbol").dropna(subset="pvals")
    clear = (table["pvals_adj"] <= 0.05).to_numpy()
    height = -np.log10(table["pvals_adj"])
    wanted = np.column_stack([table["change_B3"] - table["change_B2"], height])
    drawn = dots(ax)
    for number, branch in ((1, "B2"), (2, "B3")):
        which = clear & (table["up"] == branch).to_numpy()
        if which.any():
            own = drawn[palette(3)[number].lower()]
            np.testing.assert_allclose(ordered(own), ordered(wanted[which]))
            assert ((own[:, 0] > 0) == (branch == "B3")).all()
    assert "own" in set(table["names"][clear & (table["up"] == "B3")])
    assert [t.get_text() for t in ax.texts] == list(table["symbol"][clear].head(2))
    assert ax.get_xlabel() == "log2 fold change, B3 over B2"


def test_arms_are_drawn_where_no_cell_of_theirs_is_left(adata):
    whole = pl.volcano(adata, "F1")
    kept = adata[adata.obs["ddrtree_branch"] == adata.obs["ddrtree_branch"].cat.categories[0]].copy()
    part = pl.volcano(kept, "F1")
    names = lambda ax: [text.get_text() for text in ax.get_legend().get_texts()]
    assert names(part) == names(whole)
    assert sorted(map(len, dots(part).values())) == sorted(map(len, dots(whole).values()))


def test_two_places_and_limits(adata):
    ax = pl.volcano(adata, "root-T2", q_max=0.001, change_min=1, n_labels=0, legend=False, title="mine")
    table = get.branch_test(adata, "root-T2").dropna(subset="pvals")
    clear = (table["pvals_adj"] <= 0.001) & (table["logfoldchanges"].abs() >= 1)
    assert 0 < clear.sum() < (table["pvals_adj"] <= 0.05).sum()
    drawn = dots(ax)
    assert len(drawn["#c8c8c8"]) == (~clear).sum()
    assert not ax.texts
    assert ax.get_legend() is None
    assert ax.get_title() == "mine"
    assert ax.get_xlabel() == "log2 fold change, T2 over root"


def test_limits_are_said_and_drawn(adata):
    def dashed(ax):
        lines = [line for line in ax.lines if line.get_linestyle() != "-"]
        return sorted((line.get_xdata()[0], line.get_ydata()[0]) for line in lines)

    table = get.branch_test(adata, "root-T2").dropna(subset="pvals")
    most = table["logfoldchanges"].abs().max()
    for change_min, n_lines in ((0.0, 0), (0.4 * most, 2), (4 * most, 0)):
        ax = pl.volcano(adata, "root-T2", change_min=change_min)
        n = ((table["pvals_adj"] <= 0.05) & (table["logfoldchanges"].abs() >= change_min)).sum()
        said = f" and |change| ≥ {change_min:g}" if change_min else ""
        title = f"{len(table)} genes, {n} with q ≤ 0.05{said} at root-T2"
        assert ax.get_title().replace("\n", " ") == title
        upright = [(-change_min, 0), (change_min, 0)] if n_lines else []
        assert dashed(ax) == sorted([*upright, (0, -np.log10(0.05))])
    few = adata.copy()
    few.varm["ddrtree_association"] = few.varm["ddrtree_association"].assign(q_value=0.4)
    assert dashed(pl.volcano(few, q_max=0.2)) == [(0, -np.log10(0.2))]  # within the axis, though no gene is above it
    assert dashed(pl.volcano(few, q_max=1e-6)) == []


def test_q_values_too_small_for_a_number_stand_at_the_top(adata):
    tiny = adata.copy()
    table = tiny.varm["ddrtree_association"].copy()
    table.loc[["rise", "fall"], ["p_value", "q_value"]] = 0
    tiny.varm["ddrtree_association"] = table
    ax = pl.volcano(tiny)
    assert ax.get_ylabel() == "-log10 q (at most 300)"
    assert max(points[:, 1].max() for points in dots(ax).values()) == 300
    assert "at most" not in pl.volcano(adata).get_ylabel()


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("test", ["association", "F1"])
def test_no_text_covers_another(style, test):
    adata = cells_with_genes(comb(6), n=900, n_more=60)
    tl.association(adata)
    tl.branch_test(adata, "F1")
    with plt.style.context(style):
        assert_texts_apart(pl.volcano(adata, test, n_labels=20).figure)


def test_on_axes_that_are_given_and_errors(adata):
    ax = plt.figure().add_subplot()
    assert pl.volcano(adata, ax=ax) is ax
    for options, kind, message in (
        ({"test": "F2"}, KeyError, r"test='F2' has not been run. Available: \['F1', 'root-T2'\]"),
        ({"test": None}, TypeError, "test=None is a NoneType; wanted a string"),
        ({"test": "condition"}, ValueError, "conditions have no volcano; wanted 'association' or a fork"),
        ({"gene_symbols": "name"}, KeyError, "gene_symbols='name' is not in adata.var"),
        ({"n_labels": -1}, ValueError, "n_labels=-1 is out of range"),
        ({"q_max": "small"}, TypeError, "q_max='small' is a str"),
    ):
        with pytest.raises(kind, match=message):
            pl.volcano(adata, **options)
