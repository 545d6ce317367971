"""Every picture from its needed arguments: one and many groups, gaps, ten cells, light and dark ground, texts apart."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from pictures import assert_texts_apart
from samples import cells
from skeltraj import pl, tl
from skeltraj._palette import MIN_CONTRAST, contrast
from stored import same, snapshot

# Each function with its needed arguments, then by groups of cells; None: it knows no groups of the user's.
CALLS = {
    "adjacency": (pl.adjacency, lambda a, column: pl.adjacency(a, groupby=column)),
    "composition": (lambda a: pl.composition(a, "stage"), lambda a, column: pl.composition(a, column)),
    "covariate": (lambda a: pl.covariate(a, "number"), lambda a, column: pl.covariate(a, column)),
    "dendrogram": (pl.dendrogram, lambda a, column: pl.dendrogram(a, color=column)),
    "graph": (pl.graph, lambda a, column: pl.graph(a, color=column)),
    "heatmap": (pl.heatmap, lambda a, column: pl.heatmap(a, groupby=column)),
    "objective": (pl.objective, None),
    "progression": (lambda a: pl.progression(a, "stage"), lambda a, column: pl.progression(a, column)),
    "similarity": (
        lambda a: pl.similarity(a, "spl"),
        lambda a, column: pl.similarity(a, "spl", groupby=column),
    ),
    "stability": (pl.stability, None),
    "survival": (pl.survival, None),
    "trends": (pl.trends, lambda a, column: pl.trends(a, color=column)),
    "volcano": (pl.volcano, None),
}
OTHERS = {"graph_3d": "draws a page", "report": "writes a page"}  # of `pl` that return no Axes
GROUPED = [name for name, (_, by_groups) in CALLS.items() if by_groups is not None]
STYLES = ["default", "dark_background"]


@pytest.fixture(scope="module")
def whole():
    """200 cells with all results stored and columns of several kinds; to be copied before anything is changed."""
    adata, rng = cells(200), np.random.default_rng(0)
    tl.principal_tree(adata, n_nodes=12, n_starts=1, key_added="ddrtree")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of one cell that is far from the others
        tl.spl(adata, key_added="spl")
    tl.order(adata, 0)
    time = adata.obs["ddrtree_pseudotime"].to_numpy()
    adata.obs["number"] = time + rng.standard_normal(200)
    adata.obs["one"] = pd.Categorical(["all of them"] * 200)
    many = np.array([f"a group with a name, {i}" for i in range(12)])[np.argsort(np.argsort(time)) * 12 // 200]
    adata.obs["many"] = pd.Categorical(many)
    gaps = pd.Series(pd.Categorical(adata.obs["stage"].astype(str), categories=["left", "none here", "right", "stem"]))
    adata.obs["gaps"] = gaps.where(rng.random(200) > 0.3).to_numpy()
    adata.obs["gaps"] = pd.Categorical(adata.obs["gaps"], categories=["left", "none here", "right", "stem"])
    adata.obs["months"], adata.obs["died"] = rng.exponential(30, 200), rng.random(200) < 0.6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the genes are those from which the tree was learned
        tl.association(adata)
        tl.branch_test(adata)
        tl.trends(adata)
        for column in ("stage", "many", "gaps"):
            tl.composition(adata, column, n_permutations=19)
        tl.survival(adata, "months", "died")
        tl.stability(adata, n_replicates=3)
        tl.direction(adata, score="number", n_permutations=19)
    return adata


def axes_of(drawn):
    """The Axes that a function returned."""
    if isinstance(drawn, dict):
        drawn = list(drawn.values())
    axes = drawn if isinstance(drawn, list) else [drawn]
    assert axes
    assert all(isinstance(ax, Axes) for ax in axes)
    return axes


def assert_readable(figure):
    """Texts outside images stand out from the ground; those in the colour of a group as much as groups do."""
    for text in figure.findobj(Text):
        on_image = text.axes is not None and (text.axes.images or text in text.axes.texts)
        if text.get_visible() and text.get_text().strip() and not on_image:
            against = contrast(to_rgb(text.get_color()), to_rgb(figure.get_facecolor()))
            assert against >= MIN_CONTRAST - 0.01, (text.get_text(), text.get_color(), against)


def look(adata, draw, style="default"):
    """Draw in a style; what was drawn changes nothing, stays in one figure, and its texts keep apart."""
    before = snapshot(adata)
    with plt.style.context(style):
        axes = axes_of(draw(adata))
        [number] = plt.get_fignums()
        assert {ax.figure.number for ax in axes} == {number}
        assert_texts_apart(plt.figure(number))
        assert_readable(plt.figure(number))
    same(adata, before)
    return axes


def test_every_picture_is_in_the_table():
    assert set(CALLS) == set(pl.__all__) - set(OTHERS)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", CALLS)
def test_with_needed_arguments_alone(whole, name, style):
    look(whole.copy(), CALLS[name][0], style)


@pytest.mark.parametrize("column", ["one", "many", "gaps"])
@pytest.mark.parametrize("name", GROUPED)
def test_one_and_many_groups_and_groups_with_gaps(whole, name, column):
    if name == "composition" and column == "one":
        pytest.skip("tl.composition compares at least two groups, and says so")
    adata = whole.copy()
    if name == "covariate":
        adata.obs[column] = adata.obs[column].cat.as_ordered()
    look(adata, lambda a: CALLS[name][1](a, column), STYLES[column == "many"])


@pytest.mark.parametrize("name", CALLS)
def test_ten_cells(whole, name):
    few = whole[np.linspace(0, 199, 10).astype(int)].copy()
    if name == "similarity":
        few = cells(10)
        tl.spl(few, n_neighbors=9, key_added="spl")
    look(few, CALLS[name][0])


LONG = "A title that is longer than a single small panel is wide, as one often writes it for a talk" + " or two" * 8


@pytest.mark.parametrize("name", ["composition", "covariate", "dendrogram", "graph", "heatmap", "survival", "trends"])
def test_long_titles_are_broken_into_lines(whole, name):
    draw = {
        "covariate": lambda a: pl.covariate(a, "number", lineages=["T1"], title=LONG),
        "composition": lambda a: pl.composition(a, "stage", title=LONG),
        "trends": lambda a: pl.trends(a, a.var_names[0], title=LONG),
        "survival": lambda a: pl.survival(a, title=LONG, model=False),
    }.get(name, lambda a: CALLS[name][0](a, title=LONG))
    figure = look(whole.copy(), draw)[0].figure
    titles = [figure.get_suptitle(), *(ax.get_title() for ax in figure.axes)]
    [title] = [title for title in titles if title.startswith("A title")]
    assert title.replace("\n", " ") == LONG
    assert "\n" in title


def test_long_titles_of_given_axes_and_long_names_of_genes_are_broken_into_lines(whole):
    adata = whole.copy()
    names = {name: f"ENSG000001396{i}.15_HLA-DRB{i}_ENST00000380152.8" for i, name in enumerate(adata.var_names)}
    for draw in (
        lambda ax: pl.composition(adata, "stage", title=LONG, ax=ax),
        lambda ax: pl.survival(adata, title=LONG, ax=ax),
        lambda ax: pl.trends(adata, adata.var_names[0], title=LONG, ax=ax),
    ):
        figure, ax = plt.subplots()
        draw(ax)
        figure.canvas.draw()
        [title] = [text for text in (ax.title, ax._left_title) if text.get_text().startswith("A title")]
        assert title.get_window_extent().width <= ax.bbox.width
    adata.var_names = list(names.values())
    tl.trends(adata)
    axes = pl.trends(adata, list(names.values())[:4], ncols=4)
    assert_texts_apart(axes[0].figure)
    assert [ax.get_title().replace("\n", "") for ax in axes] == list(names.values())[:4]


BARS = {"adjacency", "composition", "heatmap", "similarity"}


@pytest.mark.parametrize("name", CALLS)
def test_a_grid_lies_below_what_is_drawn_and_not_among_bars(whole, name):
    with plt.rc_context({"axes.grid": True}):  # as after scanpy.set_figure_params()
        for ax in axes_of(CALLS[name][0](whole.copy())):
            shown = [line.get_visible() for line in (*ax.get_xgridlines(), *ax.get_ygridlines())]
            numbers = name == "survival" and ax.get_title(loc="left") == "at risk"
            assert not any(shown) or name not in BARS
            assert not any(shown) or not numbers
            drawn = [artist.get_zorder() for artist in (*ax.collections, *ax.patches)]
            assert all(order > axis.get_zorder() for order in drawn for axis in (ax.xaxis, ax.yaxis))


def test_a_grid_is_not_among_bars_that_a_picture_may_have(whole):
    adata = whole.copy()
    adata.obs["stage"] = adata.obs["stage"].astype("category").cat.as_ordered()
    with plt.rc_context({"axes.grid": True, "axes.axisbelow": False}):
        for ax in (*pl.covariate(adata, "stage", shares=True), pl.stability(adata, bars=True)[1]):
            assert not any(line.get_visible() for line in (*ax.get_xgridlines(), *ax.get_ygridlines()))
        assert pl.objective(adata).get_axisbelow() is False  # as the user has put it
