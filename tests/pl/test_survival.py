"""Curves drawn: steps, marks, numbers at risk, hazard ratios, colours, text that keeps apart."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex

from pictures import assert_texts_apart
from samples import by_hand
from skeltraj import get, pl, tl
from stored import same, snapshot


@pytest.fixture
def followed(adata):
    rng = np.random.default_rng(5)  # another seed than that of the cells
    adata.obs["months"] = np.ceil(rng.exponential(30, 200))
    adata.obs["dead"] = rng.random(200) < 0.6
    adata.obs["age"] = rng.normal(60, 8, 200)
    tl.survival(adata, "months", "dead", covariates=["age"])
    return adata


def steps(ax):
    return [line for line in ax.lines if line.get_drawstyle() == "steps-post"]


@pytest.mark.parametrize("by", ["branch", "stretch"])
def test_steps_bands_and_marks_are_the_stored_curves(followed, by):
    followed.uns["ddrtree_branch_colors"] = ["#ff0000", "#00ff00", "#0000ff"]
    tables = get.survival(followed)
    curves, table = tables.of(by)
    ax = pl.survival(followed, by)[0]
    marks = [line for line in ax.lines if line.get_marker() == "|"]
    bands = [artist for artist in ax.collections if isinstance(artist, PolyCollection)]
    assert len(steps(ax)) == len(marks) == len(bands) == len(table) == 3
    for line, mark, group in zip(steps(ax), marks, table[by], strict=True):
        own = curves[curves[by] == group]
        np.testing.assert_array_equal(line.get_xdata(), [0, *own["time"]])
        np.testing.assert_array_equal(line.get_ydata(), [1, *own["survival"]])
        ends = own[own["n_censored"] > 0]
        np.testing.assert_array_equal(mark.get_xydata(), ends[["time", "survival"]])
    if by == "branch":
        assert [to_hex(line.get_color()) for line in steps(ax)] == ["#ff0000", "#00ff00", "#0000ff"]
    assert f"log-rank p = {tables.p_value(by, 'log-rank'):.2g}" == ax.get_title(loc="left")
    assert ax.get_xlabel() == "months"


def test_numbers_at_risk_stand_under_the_ticks(followed):
    curves, risk, _ = pl.survival(followed)
    curves.figure.canvas.draw()
    low, high = curves.get_xlim()
    ticks = [tick for tick in curves.get_xticks() if low <= tick <= high]
    names = list(followed.obs["ddrtree_branch"].cat.categories)
    assert [label.get_text() for label in risk.get_yticklabels()] == names
    written = {(text.get_position()[0], text.get_position()[1]): text.get_text() for text in risk.texts}
    for row, name in enumerate(names):
        months = followed.obs["months"][followed.obs["ddrtree_branch"] == name]
        for tick in ticks:
            assert written[tick, row] == f"{(months >= tick).sum()}"
    assert len(written) == len(ticks) * len(names) >= 9
    for tick in ticks:  # as they are drawn: under the tick
        np.testing.assert_allclose(
            curves.transData.transform((tick, 0))[0], risk.transData.transform((tick, 0))[0], atol=1e-6
        )


@pytest.mark.parametrize("by", ["branch", "stretch"])
def test_hazard_ratios_are_drawn_and_written(followed, by):
    tables = get.survival(followed)
    model = "branch" if by == "branch" else "pseudotime"
    terms = tables.coefficients[tables.coefficients["model"] == model]
    ax = pl.survival(followed, by)[2]
    names = [label.get_text() for label in ax.get_yticklabels()]
    points = [line for line in ax.lines if line.get_marker() == "o"]
    spans = [line for line in ax.lines if len(line.get_xdata()) == 2][1:]  # the first is the line at 1
    if by == "branch":
        assert names == [tables.reference, *terms["term"]]
        assert points[0].get_xdata()[0] == 1
        points, spans = points[1:], spans[1:]
    else:
        assert names == ["pseudotime, per sd", "age"]
    np.testing.assert_allclose([point.get_xdata()[0] for point in points], terms["hazard_ratio"])
    np.testing.assert_allclose([span.get_xdata() for span in spans], terms[["low", "high"]])
    texts = [text.get_text() for text in ax.texts]
    for row in terms.itertuples():
        digits = ".3f" if row.term == "age" else ".3g"  # near 1
        assert f"{row.hazard_ratio:{digits}} ({row.low:{digits}} to {row.high:{digits}})" in texts
    assert f"{tables.p_value(model, 'likelihood ratio'):.2g}" in texts[-1]


def test_what_is_asked_for_is_drawn(followed):
    names = list(followed.obs["ddrtree_branch"].cat.categories)
    one = pl.survival(followed, groups=[names[2], names[0]], bands=False, censored=False, at_risk=False, model=False)
    assert len(one) == 1
    assert [line.get_label() for line in steps(one[0])] == [names[2], names[0]]
    assert not one[0].collections
    assert [text.get_text() for text in one[0].get_legend().get_texts()] == [names[2], names[0]]
    p = get.survival(followed).p_value("branch", "log-rank")
    assert one[0].get_title(loc="left") == f"log-rank p = {p:.2g}, of all 3 branches"
    mine = plt.figure().add_subplot()
    assert pl.survival(followed, "stretch", ax=mine, title="mine") == [mine]
    assert mine.get_title(loc="left").startswith("mine\nlog-rank")
    assert pl.survival(followed, title="whole")[0].figure.get_suptitle() == "whole"
    assert len(pl.survival(followed, groups=names[0])[0].lines) == 2
    tl.survival(followed, "months", "dead", branches=["B1"], n_stretches=1)
    assert len(pl.survival(followed)) == 2  # no model of branches
    assert pl.survival(followed, "stretch")[0].get_title(loc="left") == ""


@pytest.mark.parametrize("groups", [None, [1, 2]])
def test_the_title_counts_the_stretches_that_the_log_rank_test_compares(followed, groups):
    late = followed.obs["ddrtree_pseudotime"] > get.survival(followed).stretches["end"].iloc[1]
    followed.obs["months"] = followed.obs["months"].where(~late, 0.5)  # nobody is left there at the first event
    followed.obs["dead"] &= ~late
    branch = followed.obs["ddrtree_branch"].value_counts().index[0]
    tl.survival(followed, "months", "dead", branches=[branch])
    said = pl.survival(followed, "stretch", groups=groups)[0].get_title(loc="left")
    p = get.survival(followed).p_value("stretch", "log-rank")
    wanted = f"log-rank p = {p:.2g}, of the 2 of 3 stretches that have samples left at the first event"
    assert " ".join(said.split()) == wanted


@pytest.mark.parametrize(
    ("by", "n_branches", "style"),
    [
        ("branch", 2, "default"),
        ("branch", 5, "dark_background"),
        ("branch", 8, "default"),
        ("stretch", 2, "dark_background"),
        ("stretch", 5, "default"),
    ],
)
def test_no_text_covers_another(by, n_branches, style):
    rng = np.random.default_rng(5)
    angle = np.linspace(0, 6, max(3, n_branches))
    ends = np.column_stack([np.cos(angle), np.sin(angle)])
    points = rng.random((200, 1)) * ends[rng.integers(0, n_branches, 200)]
    adata = by_hand([[0, 0], *ends], [[0, i + 1] for i in range(len(ends))], points)
    tl.order(adata, root=0)
    adata.obs["overall survival in months"], adata.obs["dead"] = 3000 * rng.random(200), rng.random(200) < 0.9
    adata.obs["a covariate whose name has no end at all"] = rng.standard_normal(200)
    adata.obs["stage"] = rng.choice(["I", "II", "III"], 200)
    covariates = ["a covariate whose name has no end at all", "stage"]
    tl.survival(adata, "overall survival in months", "dead", covariates=covariates, n_stretches=min(n_branches, 5))
    with plt.style.context(style):
        axes = pl.survival(adata, by, title="a cohort")
        assert_texts_apart(axes[0].figure)
        plt.close("all")


def test_wide_intervals_are_cut_where_they_are_drawn(followed):
    table = followed.uns["ddrtree"]["survival"]["coefficients"]
    table.loc[table["model"] == "branch", ["low", "high"]] = [1e-9, 1e12]
    ax = pl.survival(followed)[2]
    assert 0.01 < ax.get_xlim()[0] < ax.get_xlim()[1] < 100
    assert any("1e-09 to 1e+12" in text.get_text() for text in ax.texts)
    assert_texts_apart(ax.figure)


@pytest.mark.parametrize(
    ("low", "ratio", "high", "marks"),
    [
        (0.5, 2, 4, [("o", 2)]),
        (0.5, 2, 400, [(">", 50), ("o", 2)]),
        (1e-3, 2, 400, [("<", 1 / 50), (">", 50), ("o", 2)]),
        (2, 80, 400, [("open >", 50)]),
        (60, 80, 400, [("open >", 50)]),
        (1e-3, 80, np.inf, [("<", 1 / 50), ("open >", 50)]),
        (0, 1e-3, 400, [(">", 50), ("open <", 1 / 50)]),
    ],
)
def test_what_lies_beyond_the_axis_is_marked(followed, low, ratio, high, marks):
    table = followed.uns["ddrtree"]["survival"]["coefficients"]
    branches = table.index[table["model"] == "branch"]
    table.loc[branches[0], ["low", "hazard_ratio", "high"]] = [low, ratio, high]
    table.loc[branches[1:], ["low", "hazard_ratio", "high"]] = [0.9, 1, 1.1]
    ax = pl.survival(followed)[2]
    drawn = [line for line in ax.lines if line.get_linestyle() == "None" and line.get_ydata()[0] == 1]
    fill = lambda line: "open " if to_hex(line.get_markerfacecolor()) == "#ffffff" else ""
    assert [(fill(line) + line.get_marker(), line.get_xdata()[0]) for line in drawn] == marks


def test_drawing_changes_nothing(followed):
    before = snapshot(followed)
    for by in ("branch", "stretch"):
        pl.survival(followed, by)
    same(followed, before)


def test_stretches_may_be_given_as_they_are_written(followed):
    written, numbers = (pl.survival(followed, "stretch", groups=groups)[0].lines for groups in (["3", 1], [3, 1]))
    assert len(written) == len(numbers) > 1
    for one, other in zip(written, numbers, strict=True):
        np.testing.assert_array_equal(one.get_xydata(), other.get_xydata())


def test_errors(followed):
    for options, kind, message in (
        ({"by": "arm"}, ValueError, r"by='arm' is not known. Available: \['branch', 'stretch'\]"),
        ({"groups": ["B1", "B9"]}, KeyError, r"groups: there is no 'B9'. Available: \['B1', 'B2', 'B3'\]"),
        ({"by": "stretch", "groups": [7]}, KeyError, r"groups: there is no 7. Available: \['1', '2', '3'\]"),
        ({"groups": 0.5}, KeyError, r"groups: there is no 0.5. Available: \['B1', 'B2', 'B3'\]"),
        ({"groups": []}, ValueError, "groups is an empty list; wanted at least one, or None"),
    ):
        with pytest.raises(kind, match=message):
            pl.survival(followed, **options)
    tl.order(followed, root=1)
    with pytest.raises(KeyError, match="no time to event is stored"):
        pl.survival(followed)
