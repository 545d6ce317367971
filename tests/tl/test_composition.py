"""Composition stored in AnnData: tables, samples, what is left out, errors, round trips."""

from __future__ import annotations

import warnings
from itertools import pairwise

import anndata as ad
import numpy as np
import pandas as pd
import pytest

import skeltraj as st
from samples import by_hand, rings
from stored import equal, same, snapshot, written_and_read

TABLES = ("branches", "pseudotime", "bins", "progress")


@pytest.fixture
def adata(three_arms):
    adata = three_arms.copy()
    st.tl.order(adata, root={"stage": "stem"})
    rng = np.random.default_rng(0)
    adata.obs["chance"] = rng.choice(["x", "y"], 300)
    adata.obs["donor"] = rng.integers(0, 8, 300)
    adata.obs["condition"] = np.where(adata.obs["donor"] % 2, "ill", "well")
    return adata


def equal_tables(a, b):
    for name in TABLES:
        pd.testing.assert_frame_equal(getattr(a, name), getattr(b, name))
    assert {k: v for k, v in vars(a).items() if k not in TABLES} == {
        k: v for k, v in vars(b).items() if k not in TABLES
    }


def test_tables_hold_what_core_finds_under_the_names_of_groups_and_branches(adata):
    before = snapshot(adata)
    assert st.tl.composition(adata, "stage", n_permutations=50) is None
    assert "composition" not in before.uns["ddrtree"]
    equal({k: v for k, v in adata.uns["ddrtree"].items() if k != "composition"}, dict(before.uns["ddrtree"]))
    tables = st.get.composition(adata, "stage")
    stage, branch, time = (adata.obs[name] for name in ("stage", "ddrtree_branch", "ddrtree_pseudotime"))
    raw = st.core.composition(
        stage.cat.codes.to_numpy(), branch.cat.codes.to_numpy(), time.to_numpy(), n_permutations=50
    )
    counts = pd.crosstab(stage, branch)
    table = tables.branches.pivot(index="group", columns="branch", values="n_cells")
    np.testing.assert_array_equal(table.to_numpy(), counts.to_numpy())
    assert list(table.index) == list(counts.index) == ["left", "right", "stem"]
    assert list(table.columns) == list(counts.columns)
    for name in ("share_of_branch", "share_of_group", "log2_enrichment", "p_value", "q_value"):
        np.testing.assert_array_equal(tables.branches[name], getattr(raw, name).ravel())
    for _, row in tables.branches.iterrows():
        assert row["share_of_branch"] == pytest.approx((stage[branch == row["branch"]] == row["group"]).mean())
        assert row["share_of_group"] == pytest.approx((branch[stage == row["group"]] == row["branch"]).mean())
    by_group = tables.pseudotime.set_index("group")
    for name in ("shift", "shift_p_value", "shift_q_value", "largest_gap", "gap_p_value", "gap_q_value"):
        np.testing.assert_array_equal(by_group[name], getattr(raw, name))
    assert by_group["n_cells"].to_dict() == stage.value_counts().to_dict()
    assert by_group.loc["stem", "shift"] < -0.9  # the root lies there
    for _, row in tables.progress.iterrows():
        there = lambda group, row=row: time[(stage == group) & (branch == row["branch"])].mean()
        assert row["difference"] == pytest.approx(there(row["group"]) - there(row["other"]))
    assert (tables.chi2, tables.chi2_p_value) == (raw.chi2, raw.chi2_p_value)
    assert (tables.permuted, tables.sample, tables.n_permutations) == ("cells", None, 50)
    assert (tables.n_cells, tables.left_out) == (300, {"group": 0, "pseudotime": 0})


def test_bins_run_along_each_lineage(adata):
    st.tl.composition(adata, "stage", n_bins=5, n_permutations=5)
    bins = st.get.composition(adata, "stage").bins
    graph, order = st.get.graph(adata), adata.uns["ddrtree"]["order"]
    position, time = adata.obsm["ddrtree_position"], adata.obs["ddrtree_pseudotime"]
    assert list(bins["lineage"].cat.categories) == list(adata.obsm["ddrtree_lineages"].columns)
    for tip, table in bins.groupby("lineage", observed=True):
        path = graph.path(order["root"], order["tips"]["node"][tip]).tolist()
        edges = {frozenset(e) for e in pairwise(path)}
        on = []
        for edge, fraction in zip(position["edge"], position["fraction"], strict=True):
            a, b = graph.edges[edge].tolist()
            at_node = {0.0: a, 1.0: b}.get(fraction)
            on.append(frozenset((a, b)) in edges or at_node in path)
        on = np.array(on)
        assert table["n_cells"].sum() == on.sum() < 300
        for number, rows in table.groupby("bin"):
            start, end = rows["start"].iloc[0], rows["end"].iloc[0]
            inside = on & (time > start if number > 1 else time >= start) & (time <= end)
            for _, row in rows.iterrows():
                own = inside & (adata.obs["stage"] == row["group"])
                assert row["n_cells"] == own.sum()
                assert row["share"] == pytest.approx(own.sum() / inside.sum())
        assert table["start"].min() == time[on].min()
        assert table["end"].max() == time[on].max()


def test_labels_constant_in_samples_are_permuted_among_samples(adata):
    ways = "only 70 ways to assign the labels of 'condition' to the samples: no p-value .* smaller than about 0.029"
    with pytest.warns(UserWarning, match=ways):
        st.tl.composition(adata, "condition", sample="donor", n_permutations=200)
    st.tl.composition(adata, "stage", sample="donor", n_permutations=50)
    tables = st.get.composition(adata, "condition")
    assert (tables.permuted, tables.sample, tables.n_distinct) == ("samples", "donor", 70)
    donor, branch = adata.obs["donor"], adata.obs["ddrtree_branch"]
    share = pd.crosstab(donor, branch, normalize="index")  # every donor counts alike
    for _, row in tables.branches.iterrows():
        of = share.loc[[d for d in share.index if (d % 2 == 1) == (row["group"] == "ill")], row["branch"]]
        assert row["share_of_group"] == pytest.approx(of.mean())
        assert row["log2_enrichment"] == pytest.approx(np.log2(of.mean() / share[row["branch"]].mean()))
    assert st.get.composition(adata, "stage").permuted == "groups within samples"
    st.tl.composition(adata, "stage", sample="donor", within_samples="cells", n_permutations=50)
    assert st.get.composition(adata, "stage").permuted == "cells within samples"
    # a donor with ten times the cells weighs no more
    with pytest.warns(UserWarning, match="not unique"):
        heavy = adata[np.r_[np.arange(300), np.tile(np.flatnonzero(donor == 3), 9)]].copy()
    heavy.obs_names_make_unique()
    with pytest.warns(UserWarning, match=ways):
        st.tl.composition(heavy, "condition", sample="donor", n_permutations=200)
    pd.testing.assert_frame_equal(
        st.get.composition(heavy, "condition").branches.drop(columns="n_cells"), tables.branches.drop(columns="n_cells")
    )


@pytest.mark.parametrize("sample", [None, "donor"])
def test_groups_that_are_others_than_those_compared_are_told(adata, sample):
    adata.obs.loc[adata.obs_names[:20], "chance"] = np.nan
    adata.obs["donor"] = adata.obs["donor"].where(np.arange(300) > 30).astype("category")
    st.tl.composition(adata, "chance", sample=sample, n_permutations=20)
    fewer = adata[:150].copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        st.get.composition(adata, "chance")
        st.get.composition(fewer, "chance")  # cells were taken out, which is told elsewhere
        adata.obs["date"] = pd.to_datetime(np.where(adata.obs["chance"] == "x", "2020-01-01", "2021-02-03"))
        adata.obs["date"] = adata.obs["date"].astype("category")
        st.tl.composition(adata, "date", n_permutations=20)
        st.get.composition(adata, "date")
    adata.obs.loc[adata.obs_names[100:200], "chance"] = "x"
    with pytest.warns(UserWarning, match="The groups of adata.obs.'chance'..* have other numbers of cells"):
        st.get.composition(adata, "chance")
    for others in (adata.obs["chance"].map({"x": "y", "y": "y"}), np.arange(300.0)):  # a group gone; no groups
        adata.obs["chance"] = others
        with pytest.warns(UserWarning, match="The groups of adata.obs.'chance'..* have other numbers of cells"):
            st.get.composition(adata, "chance")
    del adata.obs["chance"]
    assert st.get.composition(adata, "chance").groupby == "chance"


def test_few_samples_are_said_to_be_few(adata):
    few = adata[adata.obs["donor"] < 4].copy()
    with pytest.warns(
        UserWarning,
        match=r"only 6 ways to assign the labels of 'condition' to the samples: no p-value of a test of a group "
        r"against the rest can be smaller than about 0.33",
    ):
        st.tl.composition(few, "condition", sample="donor", n_permutations=100)
    assert st.get.composition(few, "condition").smallest_p_value == pytest.approx(1 / 3)
    st.tl.composition(few, "condition", n_permutations=20)  # few permutations are the user's own choice: no warning
    assert st.get.composition(few, "condition").smallest_p_value == pytest.approx(1 / 21)


def test_cells_without_group_sample_or_pseudotime_are_left_out_and_counted(adata):
    adata.obs["chance"] = adata.obs["chance"].astype("category")
    adata.obs.loc[adata.obs_names[:10], "chance"] = np.nan
    adata.obs["donor"] = adata.obs["donor"].astype(float)
    adata.obs.loc[adata.obs_names[5:20], "donor"] = np.nan
    adata.obs.loc[adata.obs_names[18:25], "ddrtree_pseudotime"] = np.nan
    st.tl.composition(adata, "chance", sample="donor", n_permutations=20)
    tables = st.get.composition(adata, "chance")
    assert tables.left_out == {"group": 10, "sample": 10, "pseudotime": 5}
    assert tables.n_cells == 275
    assert tables.branches["n_cells"].sum() == 275
    kept = adata[25:].copy()
    st.tl.composition(kept, "chance", sample="donor", n_permutations=20)
    equal_tables(
        st.get.composition(kept, "chance"),
        type(tables)(**{**vars(tables), "left_out": {"group": 0, "sample": 0, "pseudotime": 0}}),
    )


def test_groups_and_branches_without_cells_have_no_rows(adata):
    adata.obs["stage"] = adata.obs["stage"].cat.add_categories("none")
    part = adata[adata.obs["ddrtree_branch"] != "B2"].copy()
    part.obs["stage"] = pd.Categorical(part.obs["stage"], categories=["none", "stem", "right", "left"])
    st.tl.composition(part, "stage", n_permutations=5)
    table = st.get.composition(part, "stage").branches
    assert list(table["group"].cat.categories) == ["stem", "right", "left"]
    assert list(table["branch"].cat.categories) == ["B1", "B3"]
    assert len(table) == 6


def test_any_order_of_cells_and_any_kind_of_column_give_the_same(adata):
    st.tl.composition(adata, "chance", sample="donor", n_permutations=30)
    first = st.get.composition(adata, "chance")
    shuffled = adata[np.random.default_rng(1).permutation(300)].copy()
    shuffled.obs["chance"] = shuffled.obs["chance"].astype("category")
    shuffled.obs["donor"] = shuffled.obs["donor"].astype("category")
    st.tl.composition(shuffled, "chance", sample="donor", n_permutations=30)
    equal_tables(first, st.get.composition(shuffled, "chance"))
    st.tl.composition(adata, "chance", sample="donor", n_permutations=30, rng=np.random.default_rng(0))
    equal_tables(first, st.get.composition(adata, "chance"))
    st.tl.composition(adata, "chance", sample="donor", n_permutations=30, rng=1)
    assert not first.branches["p_value"].equals(st.get.composition(adata, "chance").branches["p_value"])
    adata.obs["yes"] = adata.obs["chance"] == "y"
    st.tl.composition(adata, "yes", n_permutations=5)
    assert list(st.get.composition(adata, "yes").pseudotime["group"]) == ["False", "True"]


@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
@pytest.mark.filterwarnings("ignore:there are only 70 ways")
def test_everything_survives_writing(adata, tmp_path, kind):
    st.tl.composition(adata, "stage", n_permutations=20)
    st.tl.composition(adata, "condition", sample="donor", n_permutations=20)
    back = written_and_read(adata, kind, tmp_path)
    equal(adata.uns["ddrtree"]["composition"], back.uns["ddrtree"]["composition"])
    for groupby in ("stage", "condition"):
        one, two = st.get.composition(adata, groupby), st.get.composition(back, groupby)
        for name in TABLES:
            equal(getattr(one, name), getattr(two, name))
        assert one.left_out == two.left_out
        assert one.sample == two.sample
    st.tl.composition(back, "chance", n_permutations=5)  # beside what was read
    assert set(back.uns["ddrtree"]["composition"]) == {"stage", "condition", "chance"}


def test_a_slash_in_the_name_of_the_column(adata, tmp_path):
    adata.obs["a/stage"] = adata.obs["stage"]
    st.tl.composition(adata, "a/stage", n_permutations=20)
    tables = st.get.composition(adata, "a/stage")
    del adata.obs["a/stage"]
    adata.write_h5ad(tmp_path / "a.h5ad")
    back = st.get.composition(ad.read_h5ad(tmp_path / "a.h5ad"), "a/stage")
    assert back.groupby == "a/stage"
    equal(back.branches, tables.branches)


def test_nothing_is_stored_where_warnings_are_errors(adata):
    before = snapshot(adata)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="there are only"):
            st.tl.composition(adata, "condition", sample="donor", n_permutations=1000)
        with pytest.raises(UserWarning, match="No root was given"):
            st.tl.order(adata)
    same(adata, before)


def test_copies_views_and_keys_do_not_touch_one_another(adata):
    before = snapshot(adata)
    new = st.tl.composition(adata, "stage", n_permutations=5, copy=True)
    same(adata, before)
    assert "stage" in new.uns["ddrtree"]["composition"]
    st.tl.composition(adata, "stage", n_permutations=5)
    before = snapshot(adata)
    view = adata[:100]
    with pytest.warns(UserWarning, match="view"):
        st.tl.composition(view, "chance", n_permutations=5)
    assert set(view.uns["ddrtree"]["composition"]) == {"stage", "chance"}
    same(adata, before)
    st.tl.ddrtree(adata, 2, key_added="flat")
    st.tl.order(adata, root=0, key="flat")
    st.tl.composition(adata, "chance", key="flat", n_permutations=5)
    equal(adata.uns["ddrtree"], before.uns["ddrtree"])
    assert set(adata.uns["flat"]["composition"]) == {"chance"}


def test_a_new_order_and_a_new_fit_remove_it(adata):
    for renew in (lambda: st.tl.order(adata, root=3), lambda: st.tl.ddrtree(adata, 3)):
        st.tl.composition(adata, "stage", n_permutations=5)
        renew()
        assert "composition" not in adata.uns["ddrtree"]
        if "order" in adata.uns["ddrtree"]:
            with pytest.raises(KeyError, match=r"no composition is stored for groupby='stage'.*Available: \[\]"):
                st.get.composition(adata, "stage")
    with pytest.raises(KeyError, match="the cells have not been ordered"):
        st.get.composition(adata, "stage")


@pytest.mark.filterwarnings("ignore:there are only 70 ways")
def test_the_order_of_the_categories_of_samples_changes_nothing(adata):
    for groupby in ("stage", "condition"):
        results = []
        for names in (list("01234567"), list("52741603")):
            adata.obs["donor"] = pd.Categorical(adata.obs["donor"].astype(str), categories=names)
            st.tl.composition(adata, groupby, sample="donor", n_permutations=99)
            results.append(st.get.composition(adata, groupby))
        equal_tables(*results)


def test_cells_off_every_lineage_have_no_bins():
    """They are on the longer way around a loop, which no lineage takes."""
    nodes = [[0, 0], [1, 0], [2, 0.3], [1.5, -2], [2.5, -2], [3, 0], [4, 0]]
    edges = [[0, 1], [1, 2], [2, 5], [1, 3], [3, 4], [4, 5], [5, 6]]
    edge, rng = np.arange(300) % 7, np.random.default_rng(0)
    points = st.core.Position(edge, rng.random(300), np.zeros(300)).places(st.core.Graph(nodes, edges))
    loop = by_hand(nodes, edges, points, method="principal_graph")
    st.tl.order(loop, root=0)
    off = np.isin(edge, [3, 4, 5])
    loop.obs["group"] = pd.Categorical(np.where(off, np.where(rng.random(300) < 0.5, "x", "y"), None))
    st.tl.composition(loop, "group", n_permutations=20)
    tables = st.get.composition(loop, "group")
    assert len(tables.bins) == 0
    assert tables.n_cells == off.sum()
    loop.obs["value"] = np.where(off, 1.0, np.nan)
    with pytest.raises(ValueError, match=f"none of the {off.sum()} cells with .*'value'.* lies on a lineage"):
        st.get.covariate(loop, "value")


def test_rings_have_one_lineage_of_all_cells_and_parts_are_left_out():
    adata = rings()
    st.tl.principal_graph(adata, n_nodes=40)
    key = "principal_graph"
    with pytest.warns(UserWarning, match="components without the root|No lineage was found"):
        st.tl.order(adata, root=0, key=key)
    adata.obs["half"] = np.where(adata.obs["angle"] > np.pi, "upper", "lower")
    st.tl.composition(adata, "half", key=key, n_permutations=5)
    tables = st.get.composition(adata, "half", key)
    lost = int(adata.obs[f"{key}_pseudotime"].isna().sum())
    assert tables.left_out["pseudotime"] == lost == 500
    lineages = list(adata.obsm[f"{key}_lineages"].columns) or ["all"]
    assert list(tables.bins["lineage"].cat.categories) == lineages
    with pytest.raises(ValueError, match=r"groupby='ring' gives \['(large|small)'\] to the 500 cells \(of 1000\)"):
        st.tl.composition(adata, "ring", key=key)


def test_progress_is_shown_on_standard_error(adata, capsys):
    st.tl.composition(adata, "stage", n_permutations=5, progress=True)
    assert "50 of 50 permutations" in capsys.readouterr().err
    st.tl.composition(adata, "stage", n_permutations=5, progress=False)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("changed", "kind", "message"),
    [
        ({"groupby": "stge"}, KeyError, r"groupby='stge' is not in adata.obs. Available: \["),
        (
            {"groupby": "place"},
            TypeError,
            r"adata.obs\['place'\] is numeric \(float64\); wanted groups .* "
            r"adata.obs\['place'\] = adata.obs\['place'\].astype\('category'\) first; if they are quantities, call "
            r"skeltraj.tl.association\(adata, columns=\['place'\]\) or skeltraj.get.covariate\(adata, 'place'\)",
        ),
        (
            {"groupby": "one"},
            ValueError,
            r"groupby='one' gives \['a'\] to the 300 cells \(of 300\) that have a group and a pseudotime; wanted",
        ),
        (
            {"groupby": "mixed"},
            ValueError,
            r"groupby='mixed' has the categories 1 and '1', which are written alike; wanted names that differ, or "
            r"adata.obs\['mixed'\].astype\(str\), which makes them one",
        ),
        ({"groupby": "none"}, ValueError, r"groupby='none' gives \[\] to the 0 cells \(of 300\)"),
        ({"sample": "dnr"}, KeyError, "sample='dnr' is not in adata.obs. Available: "),
        ({"sample": "stage"}, ValueError, "sample='stage' is groupby itself"),
        ({"sample": "place"}, TypeError, r"sample: adata.obs\['place'\] holds fractions \(float64\)"),
        ({"n_bins": 0}, ValueError, "n_bins=0 is out of range"),
        ({"n_permutations": True}, TypeError, "n_permutations=True is a bool"),
        ({"n_permutations": 0}, ValueError, "n_permutations=0 is out of range"),
        ({"rng": -1}, ValueError, "rng=-1 is no seed; wanted a whole number from 0 up"),
        ({"key": "tree"}, KeyError, "no skeleton is stored as adata.uns"),
    ],
)
def test_errors_come_before_anything_is_stored(adata, changed, kind, message):
    adata.obs["one"], adata.obs["none"] = "a", pd.Categorical([None] * 300, categories=["a", "b"])
    adata.obs["mixed"] = pd.Categorical([1, "1", "b"] * 100)
    st.tl.composition(adata, "stage", n_permutations=5)
    before = snapshot(adata)
    with pytest.raises(kind, match=message):
        st.tl.composition(adata, **({"groupby": "stage"} | changed))
    same(adata, before)


def test_reading_what_is_not_there(adata):
    with pytest.raises(KeyError, match=r"no composition is stored for groupby='stage'.*Available: \[\]"):
        st.get.composition(adata, "stage")
    st.tl.composition(adata, "chance", n_permutations=5)
    with pytest.raises(KeyError, match=r"Available: \['chance'\]. Run skeltraj.tl.composition\(adata, 'stage', key="):
        st.get.composition(adata, "stage")
