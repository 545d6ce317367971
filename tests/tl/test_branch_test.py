"""Genes that differ between branches or places, stored in AnnData: keys, which cells, tests side by side, errors."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import skeltraj as st
from samples import by_hand
from stored import equal, refused, same, snapshot, written_and_read
from tested_genes import GENES, cells_on_two_forks
from two_forks import TWO_FORKS

pytestmark = pytest.mark.filterwarnings("ignore:.* of 8 genes have the same value", "ignore:1 of 8 genes")
OF_FORK = ["score", "p_value", "q_value", "change", "up", "parting", "parting_low", "parting_high", "mean", "n_cells"]
OF_PLACES = ["score", "p_value", "q_value", "change", "change_error", "mean", "n_cells"]
RECORD = {
    "kind", "family", "use_rep", "size_factors", "covariates", "n_cells", "n_genes", "n_constant", "degrees", "version",
    "exploratory", "made_of",
}  # fmt: skip


@pytest.fixture(scope="module")
def cells():
    return cells_on_two_forks()


@pytest.fixture
def adata(cells):
    return cells.copy()


def raw_of(adata, fork, **more):
    graph = st.get.graph(adata)
    position = st.core.locate(graph, adata.obsm["X_ddrtree"])
    options = dict(size_factors=adata.obs["factor"].to_numpy()) | more
    return st.core.branch_test(adata.X, st.core.tree_basis(graph, position), position, 0, fork, **options)


def test_tables_hold_what_core_finds_for_every_fork(adata):
    with pytest.warns(UserWarning, match="F1: 1 of 8 genes have the same value in all .* cells compared"):
        assert st.tl.branch_test(adata, size_factors="factor") is None
    table = adata.varm["ddrtree_branch_test"]
    assert list(table.index) == GENES
    wanted = [f"F1_{name}" for name in [*OF_FORK, "change_B2", "change_B3"]]
    wanted += [f"F2_{name}" for name in [*OF_FORK, "change_B4", "change_B5"]]
    assert set(table.columns) == set(wanted)
    dispersion = None
    for fork, node in (("F1", 2), ("F2", 5)):
        raw = raw_of(adata, node, dispersion=dispersion)
        dispersion = raw.dispersions.final if dispersion is None else dispersion
        for name in ("score", "p_value", "change", "parting", "parting_low", "parting_high", "mean"):
            np.testing.assert_array_equal(table[f"{fork}_{name}"], getattr(raw, name))
        np.testing.assert_array_equal(table[f"{fork}_n_cells"], raw.n_seen)
        branches = np.array([f"B{b + 1}" for b in raw.arms.branch])
        up = table[f"{fork}_up"]
        assert list(up.cat.categories) == list(branches)
        np.testing.assert_array_equal(up.cat.codes, raw.up)
        np.testing.assert_array_equal(table[[f"{fork}_change_{b}" for b in branches]], raw.level)
        compared = adata.obsm["ddrtree_compared"][fork]
        assert compared.notna().sum() == raw.arms.used.sum()
        assert list(compared[raw.arms.used]) == list(branches[raw.arms.arm[raw.arms.used]])
        record = adata.uns["ddrtree"]["branch_test"][fork]
        assert (record["n_cells"], record["degrees"]) == (raw.arms.used.sum(), raw.degrees)
        arms = record["arms"]
        assert list(arms.index) == list(branches)
        np.testing.assert_array_equal(arms["n_cells"], np.bincount(raw.arms.arm[raw.arms.used]))
        np.testing.assert_array_equal(arms["length"], raw.arms.length)
        np.testing.assert_array_equal(arms["stretch"], raw.arms.stretch)
    # what it says of these genes
    assert table.loc["arm", "F1_up"] == "B3"
    assert table.loc["late", "F2_up"] == "B4"
    assert table.loc["arm", "F1_q_value"] < 0.01
    assert table.loc["late", "F2_q_value"] < 0.01
    assert 2 < table.loc["arm", "F1_parting"] < 4
    assert table.loc["flat0":"flat3", "F1_p_value"].min() > 1e-3
    assert np.isnan(table.loc["zero", "F1_p_value"])
    assert table["F1_up"].isna()["zero"]


def test_exactly_the_documented_keys(adata):
    before = snapshot(adata)
    st.tl.branch_test(adata, "F2")
    tests = adata.uns["ddrtree"].pop("branch_test")
    same(adata, before, {"varm": {"ddrtree_branch_test"}, "obsm": {"ddrtree_compared"}})
    assert set(tests) == {"F2"}
    assert set(tests["F2"]) == RECORD | {"arms", "align"}
    assert (tests["F2"]["kind"], tests["F2"]["align"]) == ("fork", "pseudotime")
    st.tl.branch_test(adata, between=("root", "T2"))
    record = adata.uns["ddrtree"]["branch_test"]["root-T2"]
    assert set(record) == RECORD | {"between"}
    assert (record["kind"], record["between"].tolist(), record["degrees"]) == ("places", [0, 4], 1)


def test_two_places(adata):
    st.tl.branch_test(adata, between=("root", "T2"), size_factors="factor")
    table = adata.varm["ddrtree_branch_test"]
    assert set(table.columns) == {f"root-T2_{name}" for name in OF_PLACES}
    assert adata.obsm["ddrtree_compared"].shape == (400, 0)
    assert table.loc["rise", "root-T2_change"] > 1
    assert table.loc["arm", "root-T2_change"] < -1
    assert table.loc[["rise", "arm"], "root-T2_q_value"].max() < 0.01
    assert table.loc["flat0":"flat3", "root-T2_p_value"].min() > 1e-3
    graph = st.get.graph(adata)
    position = st.core.locate(graph, adata.obsm["X_ddrtree"])
    raw = st.core.contrast(
        adata.X, st.core.tree_basis(graph, position), position, 0, 4, size_factors=adata.obs["factor"].to_numpy()
    )
    for name, own in [("score",) * 2, ("p_value",) * 2, ("change",) * 2, ("change_error", "error"), ("mean",) * 2]:
        np.testing.assert_array_equal(table[f"root-T2_{name}"], getattr(raw, own))
    st.tl.branch_test(adata, between=(4, "T3"))
    st.tl.branch_test(adata, between=["T4", "F1"])
    assert set(adata.uns["ddrtree"]["branch_test"]) == {"root-T2", "node 4-T3", "T4-F1"}


def test_tests_are_kept_side_by_side_and_made_anew(adata):
    st.tl.branch_test(adata, "F1")
    first = adata.varm["ddrtree_branch_test"].copy()
    st.tl.branch_test(adata, between=("root", "T3"), genes=["late", "flat0"])
    st.tl.branch_test(adata, ["F2"], align="fraction")
    table = adata.varm["ddrtree_branch_test"]
    equal(table[first.columns], first)
    assert set(adata.uns["ddrtree"]["branch_test"]) == {"F1", "F2", "root-T3"}
    assert list(adata.obsm["ddrtree_compared"].columns) == ["F1", "F2"]
    assert table["root-T3_p_value"].notna().sum() == 2
    assert adata.uns["ddrtree"]["branch_test"]["root-T3"]["n_genes"] == 2
    assert table["F2_parting"].max() <= 1
    again = adata.obsm["ddrtree_compared"]["F2"].notna().sum()
    st.tl.branch_test(adata, "F1", align="fraction")
    assert adata.obsm["ddrtree_compared"]["F2"].notna().sum() == again
    assert adata.uns["ddrtree"]["branch_test"]["F1"]["align"] == "fraction"
    assert len(adata.varm["ddrtree_branch_test"].columns) == len(table.columns)
    assert not adata.varm["ddrtree_branch_test"]["F1_p_value"].equals(first["F1_p_value"])
    st.tl.order(adata, root=0)
    assert "ddrtree_branch_test" not in adata.varm
    assert "ddrtree_compared" not in adata.obsm
    assert "branch_test" not in adata.uns["ddrtree"]


@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_everything_survives_writing(adata, tmp_path, kind):
    st.tl.branch_test(adata, between=("root", "T2"))
    back = written_and_read(adata, kind, tmp_path)  # without a column of cells that were compared
    equal(adata.varm["ddrtree_branch_test"], back.varm["ddrtree_branch_test"])
    st.tl.branch_test(back, "F1", covariates="batch")
    again = written_and_read(back, kind, tmp_path)
    equal(back.varm["ddrtree_branch_test"], again.varm["ddrtree_branch_test"])
    equal(back.obsm["ddrtree_compared"], again.obsm["ddrtree_compared"])
    equal(back.uns["ddrtree"]["branch_test"], again.uns["ddrtree"]["branch_test"])
    for test in ("root-T2", "F1"):
        equal(st.get.branch_test(back, test), st.get.branch_test(again, test))
    st.tl.branch_test(again, "F2")
    assert set(again.uns["ddrtree"]["branch_test"]) == {"root-T2", "F1", "F2"}


def test_dispersions_of_the_association_are_taken(adata, monkeypatch):
    """From the same counts with the same covariates; else they are estimated."""
    from skeltraj.core._curves import frame

    calls, own = [], frame.estimate_dispersions

    def counted(*given):
        calls.append(1)
        return own(*given)

    monkeypatch.setattr(frame, "estimate_dispersions", counted)
    st.tl.association(adata, size_factors="factor")
    assert len(calls) == 1
    st.tl.branch_test(adata, size_factors="factor")
    assert len(calls) == 1
    dispersion = adata.varm["ddrtree_association"]["dispersion"].to_numpy()
    raw = raw_of(adata, 2, dispersion=dispersion)
    np.testing.assert_array_equal(adata.varm["ddrtree_branch_test"]["F1_p_value"], raw.p_value)
    st.tl.branch_test(adata, "F1", size_factors="factor", genes=["late", "arm"])
    assert len(calls) == 1
    for other in (dict(covariates="batch"), dict(size_factors=None)):
        st.tl.branch_test(adata, "F1", **(dict(size_factors="factor") | other))
    assert len(calls) == 3
    adata.layers["logs"] = np.log1p(adata.X)
    st.tl.branch_test(adata, "F1", layer="logs")
    st.tl.association(adata, size_factors="factor", genes=["late"])
    st.tl.branch_test(adata, "F1", size_factors="factor")
    assert len(calls) == 5


def test_copies_sparse_matrices_and_other_keys(adata):
    before = snapshot(adata)
    new = st.tl.branch_test(adata, "F1", copy=True)
    same(adata, before)
    adata.X = sparse.csr_matrix(adata.X)
    st.tl.branch_test(adata, 2)  # by its node
    equal(adata.varm["ddrtree_branch_test"], new.varm["ddrtree_branch_test"])
    other = by_hand(TWO_FORKS.nodes, TWO_FORKS.edges, adata.obsm["X_ddrtree"], key="other")
    adata.obsm.update(other.obsm)
    adata.uns.update(other.uns)
    st.tl.order(adata, root=2, key="other")
    st.tl.branch_test(adata, "root", key="other")  # the root is a fork of three
    assert set(adata.uns["other"]["branch_test"]) == {"F1"}
    assert list(adata.uns["other"]["branch_test"]["F1"]["arms"].index) == ["B1", "B2", "B3"]
    equal(adata.varm["ddrtree_branch_test"], new.varm["ddrtree_branch_test"])


def test_cells_that_are_left_out(adata):
    adata.obs.loc[adata.obs_names[:50], "batch"] = np.nan
    adata.obs.loc[adata.obs_names[50:80], "ddrtree_pseudotime"] = np.nan
    adata.X[80:90] = 0
    st.tl.branch_test(adata, "F1", covariates="batch")
    compared = adata.obsm["ddrtree_compared"]["F1"]
    assert compared.iloc[:90].isna().all()
    assert compared.notna().sum() == adata.uns["ddrtree"]["branch_test"]["F1"]["n_cells"] > 50
    assert adata.uns["ddrtree"]["branch_test"]["F1"]["covariates"].tolist() == ["batch=b", "batch=c"]


def test_a_root_within_a_branch_is_no_fork(adata):
    st.tl.order(adata, root=1)
    words = "node 1 is no fork but lies within branch B1"
    refused(adata, ValueError, words, lambda: st.tl.branch_test(adata, "root"))
    st.tl.branch_test(adata)
    assert list(adata.uns["ddrtree"]["branch_test"]) == ["F1", "F2"]


def test_progress(adata, capsys):
    st.tl.branch_test(adata, "F1", progress=True)
    shown = capsys.readouterr().err
    assert "branch test F1: 100%" in shown
    assert "16 of 16 fits" in shown


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"fork": "F3"}, ValueError, r"fork='F3' is not on the skeleton. Available: \['T1'"),
        ({"fork": "T2"}, ValueError, r"fork='T2' is a tip; wanted a fork. Available: \['F1'"),
        ({"fork": 4}, ValueError, r"node 4 has 0 branch\(es\) away from the root; wanted at least two"),
        ({"fork": []}, ValueError, "fork is an empty list"),
        ({"fork": 1.5}, TypeError, "fork=1.5"),
        ({"fork": "F1", "between": ("root", "T2")}, ValueError, "fork='F1' and between=.* were given"),
        ({"between": "T1"}, ValueError, "between='T1'; wanted two places"),
        ({"between": ("T1", "T2", "T3")}, ValueError, "wanted two places: tips, forks, nodes or 'root'"),
        ({"between": ("root", "T1")}, ValueError, r"between=\('root', 'T1'\) names one node, 0, twice"),
        ({"between": ("root", "X")}, ValueError, "between='X' is not on the skeleton"),
        ({"between": ("root", "B1")}, ValueError, "between='B1' is a branch; wanted one of its ends, or another place"),
        ({"align": "time"}, ValueError, "align='time'"),
        ({"align": "time", "between": ("T1", "T2")}, ValueError, "align='time'"),
        ({"align": "fraction", "between": ("T1", "T2")}, ValueError, "align='fraction' was given with between"),
        ({"covariates": "donor"}, KeyError, "covariates: 'donor' is not in adata.obs"),
        ({"layer": "halves", "family": "negative_binomial"}, ValueError, "holds 0.5; wanted counts"),
        ({"genes": ["Klf1"]}, KeyError, "genes: 'Klf1'"),
        ({"key": "tree"}, KeyError, "no skeleton is stored as adata.uns"),
    ],
)
def test_errors_leave_everything_as_it_was(adata, given, error, words):
    adata.layers["halves"] = adata.X / 2
    st.tl.branch_test(adata, "F2")
    refused(adata, error, words, lambda: st.tl.branch_test(adata, **given))


def test_trees_that_are_refused(adata):
    line = adata.copy()
    by = by_hand([[0, 0], [2, 0], [4, 0]], [[0, 1], [1, 2]], adata.obsm["X_ddrtree"])
    line.obsm.update(by.obsm)
    line.uns.update(by.uns)
    st.tl.order(line, root=0)
    refused(
        line, ValueError, r"the tree has 0 fork\(s\) and none from which two branches lead",
        lambda: st.tl.branch_test(line),
    )  # fmt: skip
    loop = adata.copy()
    nodes = [[0, 0], [1, 0], [2, 1], [2, -1], [4, 1]]
    by = by_hand(nodes, [[0, 1], [1, 2], [2, 3], [3, 1], [2, 4]], adata.obsm["X_ddrtree"], method="principal_graph")
    loop.obsm.update(by.obsm)
    loop.uns.update(by.uns)
    st.tl.order(loop, root=0)
    refused(loop, ValueError, r"1 loop\(s\), so arms beyond a fork meet again", lambda: st.tl.branch_test(loop, "F1"))
    st.tl.association(loop)
    fork = adata[np.flatnonzero(adata.obs["ddrtree_branch"] != "B4")].copy()
    refused(fork, ValueError, "B4 has . points to compare", lambda: st.tl.branch_test(fork, "F2"))
    lost = adata.copy()
    lost.obs["ddrtree_pseudotime"] = np.nan
    refused(lost, ValueError, "none of 400 cells can be used: each has no pseudotime", lambda: st.tl.branch_test(lost))
    fresh = by_hand(TWO_FORKS.nodes, TWO_FORKS.edges, adata.obsm["X_ddrtree"])
    refused(fresh, KeyError, "the cells have not been ordered", lambda: st.tl.branch_test(fresh))
    before = snapshot(adata)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="1 of 8 genes"):
            st.tl.branch_test(adata)
    same(adata, before)


def test_a_thin_arm_leaves_its_fork_out_of_all(adata):
    """The other forks are tested; a fork that is named must have enough cells."""
    fork = adata[np.flatnonzero(adata.obs["ddrtree_branch"] != "B4")].copy()
    with pytest.warns(UserWarning, match="fork F2: .* B4 has . points to compare; .* The other forks were tested."):
        st.tl.branch_test(fork)
    assert set(fork.uns["ddrtree"]["branch_test"]) == {"F1"}
    assert not [name for name in fork.varm["ddrtree_branch_test"] if name.startswith("F2")]
    named = fork.varm["ddrtree_branch_test"].copy()
    st.tl.branch_test(fork, "F1")
    pd.testing.assert_frame_equal(fork.varm["ddrtree_branch_test"], named)
    few = fork[::25].copy()
    refused(few, ValueError, "points to compare; wanted at least 10", lambda: st.tl.branch_test(few))


def test_tests_stay_where_the_cells_compared_are_gone(adata):
    with pytest.warns(UserWarning, match="1 of 8 genes"):
        st.tl.branch_test(adata, "F1", size_factors="factor")
    before = adata.varm["ddrtree_branch_test"].copy()
    del adata.obsm["ddrtree_compared"]
    with pytest.warns(UserWarning, match="1 of 8 genes"):
        st.tl.branch_test(adata, "F2", size_factors="factor")
    pd.testing.assert_frame_equal(adata.varm["ddrtree_branch_test"][before.columns], before)
    assert list(adata.obsm["ddrtree_compared"].columns) == ["F2"]
