"""Groups' shares drawn: heights of bars and steps, marks, colours, text that keeps apart."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import StepPatch

from skeltraj import get, pl, tl


@pytest.fixture
def tables(adata):
    tl.composition(adata, "stage", n_permutations=100)
    return get.composition(adata, "stage")


def test_bars_are_the_shares_of_branches(adata, tables):
    adata.uns["stage_colors"] = ["#ff0000", "#00ff00", "#0000ff"]
    ax = pl.composition(adata, "stage")[0]
    branches = list(tables.branches["branch"].cat.categories)
    assert [bars.patches[0].get_facecolor()[:3] for bars in ax.containers] == [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    for bars, group in zip(ax.containers, ["left", "right", "stem"], strict=True):
        of = tables.branches[tables.branches["group"] == group]
        np.testing.assert_allclose([bar.get_height() for bar in bars], of["share_of_branch"])
        np.testing.assert_allclose([bar.get_x() + bar.get_width() / 2 for bar in bars], range(len(branches)))
    tops = [bar.get_y() + bar.get_height() for bar in ax.containers[-1]]
    np.testing.assert_allclose(tops, 1)
    cells = adata.obs["ddrtree_branch"].value_counts()
    assert [t.get_text() for t in ax.get_xticklabels()] == [f"{b}\n{cells[b]}" for b in branches]


def test_cells_without_a_value_are_told(adata):
    branch, kept = adata.obs["ddrtree_branch"], np.arange(200) % 3 > 0
    first = branch.cat.categories[0]
    kept[(branch == first).to_numpy()] = False
    kept[np.flatnonzero(branch == first)[0]] = True
    adata.obs["some"] = adata.obs["stage"].where(kept)
    tl.composition(adata, "some", n_permutations=20)
    ax = pl.composition(adata, "some")[0]
    whole, with_value = branch.value_counts(), branch[kept].value_counts()
    names = [f"{b}\n{with_value[b]}\nof {whole[b]}" for b in branch.cat.categories]
    assert names[0].split("\n")[1] == "1"
    assert [t.get_text() for t in ax.get_xticklabels()] == names
    assert ax.get_xlabel() == "branch, cells with a value,\nof all cells"
    left = pl.composition(adata[kept].copy(), "some")[0]  # without those that lack one
    assert [t.get_text() for t in left.get_xticklabels()] == [f"{b}\n{with_value[b]}" for b in branch.cat.categories]
    assert left.get_xlabel() == "branch, number of cells"


@pytest.mark.parametrize("level", [0.05, 0.0])
def test_marks_say_what_is_enriched_and_what_depleted(adata, tables, level):
    axes = pl.composition(adata, "stage", level=level)
    codes = tables.branches["branch"].cat.codes
    wanted = set()
    for at, row in zip(codes, tables.branches.itertuples(), strict=True):
        if row.q_value <= level:
            wanted.add((int(at), row.group, row.log2_enrichment > 0))
    assert bool(wanted) == (level > 0)
    color = {
        to_hex(bars.patches[0].get_facecolor()): g
        for bars, g in zip(axes[0].containers, tables.pseudotime["group"], strict=True)
    }
    drawn = set()
    height = {}
    for marks in axes[0].collections:
        up = np.unique(marks.get_paths()[0].vertices, axis=0)[:, 1]
        enriched = np.sum(up == up.max()) < np.sum(up == up.min())  # one point at the top
        for x, y in marks.get_offsets():
            group = color[to_hex(marks.get_facecolor()[0])]
            drawn.add((int(x), group, bool(enriched)))
            assert height.setdefault(group, y) == y > 1
    assert drawn == wanted
    assert len(set(height.values())) == len(height)
    texts = [t.get_text() for t in axes[0].figure.legends[0].get_texts()]
    assert texts == ["stem", "right", "left"] + (["enriched, q ≤ 0.05", "depleted, q ≤ 0.05"] if wanted else [])


def test_steps_are_the_shares_of_bins(adata, tables):
    axes = pl.composition(adata, "stage")
    lineages = list(tables.bins["lineage"].cat.categories)
    assert len(axes) == 1 + len(lineages) > 2
    for ax, lineage in zip(axes[1:], lineages, strict=True):
        assert ax.get_title() == f"lineage to {lineage}"
        filled = [p for p in ax.patches if isinstance(p, StepPatch) and p.get_fill()]
        for steps, group in zip(filled, ["left", "right", "stem"], strict=True):
            of = tables.bins[(tables.bins["lineage"] == lineage) & (tables.bins["group"] == group)]
            data = steps.get_data()
            np.testing.assert_allclose(data.values - data.baseline, of["share"], atol=1e-12)
            np.testing.assert_allclose(data.edges, [*of["start"], of["end"].iloc[-1]])
        np.testing.assert_allclose(filled[-1].get_data().values, 1)
    assert axes[1].get_shared_x_axes().joined(axes[1], axes[2])
    for chosen in (lineages[1:2], lineages[1]):
        one = pl.composition(adata, "stage", lineages=chosen, legend=False, title="one")
        assert [ax.get_title() for ax in one[1:]] == [f"lineage to {lineages[1]}"]
    assert not one[0].figure.legends
    assert one[0].figure.get_suptitle() == "one"


@pytest.mark.parametrize("n_groups", [3, 9])
@pytest.mark.parametrize("n_branches", [2, 9])
def test_no_text_covers_another(adata, n_groups, n_branches):
    place = adata.obs["ddrtree_pseudotime"].rank(pct=True)
    adata.obs["type"] = pd.cut(place, n_groups, labels=[f"cell type {i}" for i in range(n_groups)])
    tl.composition(adata, "type", n_permutations=100)
    # as many branches and lineages as wanted
    stored = adata.uns["ddrtree"]["composition"]["type"]
    names = [f"B{i + 1}" for i in range(n_branches)]
    one = stored["branches"][stored["branches"]["branch"] == "B1"]
    several = pd.concat([one.assign(branch=name) for name in names], ignore_index=True)
    stored["branches"] = several.assign(branch=pd.Categorical(several["branch"], categories=names))
    tips = [f"T{i + 1}" for i in range(n_branches // 2 + 1)]
    line = stored["bins"][stored["bins"]["lineage"] == stored["bins"]["lineage"].iloc[0]]
    lines = pd.concat([line.assign(lineage=tip) for tip in tips], ignore_index=True)
    stored["bins"] = lines.assign(lineage=pd.Categorical(lines["lineage"], categories=tips))
    axes = pl.composition(adata, "type", title="types")
    figure = axes[0].figure
    figure.canvas.draw()
    assert len(axes) == 1 + len(tips)
    texts = []
    for ax in axes:
        low, high = ax.get_xlim()
        shown = ax.xaxis.get_tick_params()
        # older matplotlib calls the labels of the x axis "labelleft"
        ticks = ax.get_xticklabels() if shown.get("labelbottom", shown.get("labelleft")) else []
        texts += [t for t in ticks if low <= t.get_position()[0] <= high]  # others are not drawn
        texts += [*ax.get_yticklabels(), ax.title, ax.xaxis.label, ax.yaxis.label]
    texts += [*figure.legends[0].get_texts(), figure.legends[0].get_title(), figure._suptitle]
    inside = figure.bbox
    boxes = [(t.get_text(), t.get_window_extent()) for t in texts if t.get_visible() and t.get_text()]
    for name, box in boxes:
        assert (np.r_[box.min, -box.max] >= np.r_[inside.min, -inside.max]).all(), name
    for (one_name, one_box), (other_name, other_box) in combinations(boxes, 2):
        assert not one_box.overlaps(other_box), (one_name, other_name)


def test_weights_of_samples_are_told(adata):
    adata.obs["donor"] = np.arange(200) % 10
    adata.obs["condition"] = np.where(adata.obs["donor"] < 5, "ill", "well")
    tl.composition(adata, "condition", sample="donor", n_permutations=20)
    assert pl.composition(adata, "condition")[0].get_ylabel() == "share of the branch, samples alike"


def test_errors(adata, tables):
    for options, kind, message in (
        ({"lineages": ["T1", "T99"]}, KeyError, r"lineages: there is no 'T99'. Available: \['T"),
        ({"lineages": []}, ValueError, "lineages is an empty list"),
        ({"level": -1}, ValueError, "level=-1 is out of range; wanted a number >= 0"),
    ):
        with pytest.raises(kind, match=message):
            pl.composition(adata, "stage", **options)
    with pytest.raises(KeyError, match=r"no composition is stored for groupby='place'.*Available: \['stage'\]"):
        pl.composition(adata, "place")
    adata.obs["stage"] = adata.obs["stage"].cat.rename_categories({"stem": "trunk"})
    gone = r"adata.obs\['stage'\] has no group 'stem' any more.*'trunk'\]. Run skeltraj.*, or draw it"
    with (
        pytest.warns(UserWarning, match="have other numbers of cells than when they were compared: group 'stem' had"),
        pytest.raises(ValueError, match=gone),
    ):
        pl.composition(adata, "stage")
    tl.order(adata, root=1)
    with pytest.raises(KeyError, match="no composition is stored"):
        pl.composition(adata, "stage")


def test_the_figure_can_be_saved_as_others_are(adata, tables, tmp_path):
    axes = pl.composition(adata, "stage")
    axes[0].figure.savefig(tmp_path / "composition.png")
    assert (tmp_path / "composition.png").stat().st_size > 1000
