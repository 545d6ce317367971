"""tl.association and tl.branch_test with donors and conditions: as in core, what is stored, errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from anndata import AnnData

import skeltraj as st
from skeltraj import core
from stored import equal, refused, written_and_read
from two_forks import TWO_FORKS

N_DONORS, N_EACH = 6, 100
GENES = ["level", "shape", *(f"flat{i}" for i in range(30)), "zero"]


@pytest.fixture(scope="module")
def tested():
    """Six donors, three of them stimulated, on a tree with two forks."""
    rng = np.random.default_rng(0)
    donor = np.repeat(np.arange(N_DONORS), N_EACH)
    stim = donor % 2
    edge = rng.integers(0, 7, len(donor))
    ends = TWO_FORKS.nodes[TWO_FORKS.edges]
    points = ends[edge, 0] + rng.uniform(size=(len(donor), 1)) * (ends[edge, 1] - ends[edge, 0])
    x = points[:, 0]
    effect = np.zeros((len(donor), len(GENES)))
    effect[:, 0], effect[:, 1] = 1.5 * stim, stim * 1.5 * (x > 2.5)
    rate = np.exp(0.7 + effect + rng.normal(0, 0.2, (N_DONORS, len(GENES)))[donor])
    counts = rng.poisson(rate).astype(float)
    counts[:, -1] = 0
    obs = pd.DataFrame(
        {
            "donor": pd.Categorical([f"d{i}" for i in donor]),
            "stim": pd.Categorical(np.where(stim, "stim/IFN", "ctrl"), categories=["ctrl", "other", "stim/IFN"]),
            "half": np.arange(len(donor)) % 2,
        },
        index=[f"c{i}" for i in range(len(donor))],
    )
    adata = AnnData(counts, obs=obs, var=pd.DataFrame(index=GENES))
    adata.obsm["X_line"] = points
    st.tl.principal_tree(adata, use_rep="X_line", n_nodes=40, key_added="tree", prune=True)
    st.tl.order(adata, root=int(np.argmin(adata.uns["tree"]["nodes"][:, 0])), key="tree")
    return adata


@pytest.fixture
def adata(tested):
    return tested.copy()


def association(adata, **more):
    with pytest.warns(UserWarning, match="1 of 33 genes have the same value in all"):
        st.tl.association(adata, key="tree", size_factors=None, **more)


def in_core(adata):
    """What core takes: tree, positions, root."""
    graph = st.get.graph(adata, "tree")
    stored = adata.obsm["tree_position"]
    position = core.Position(*(stored[name].to_numpy() for name in ("edge", "fraction", "distance")))
    return core.tree_basis(graph, position), position, int(adata.uns["tree"]["order"]["root"])


def test_conditions_with_donors_are_those_of_core(adata):
    association(adata, condition="stim", sample="donor")
    basis, position, root = in_core(adata)
    codes = {name: adata.obs[name].cat.codes.to_numpy(dtype=int) for name in ("stim", "donor")}
    wanted = core.condition_test(adata.X, basis, position, codes["stim"], sample=codes["donor"])
    table = adata.varm["tree_condition_test"]
    for column, values in {
        "score": wanted.score,
        "p_value": wanted.p_value,
        "level_p_value": wanted.p_level,
        "shape_p_value": wanted.p_shape,
        "change": wanted.change[:, 0],
        "change_stim∕IFN": wanted.change[:, 0],  # a slash would begin another level of a file
        "mean_change_stim∕IFN": wanted.average[:, 0],
        "dispersion": wanted.dispersions.final,
    }.items():
        np.testing.assert_array_equal(table[column], values, err_msg=column)
    assert list(table.columns) == [
        "score", "p_value", "q_value", "level_p_value", "shape_p_value", "change", "mean", "n_cells", "dispersion",
        "change_stim∕IFN", "where_branch_stim∕IFN", "where_pseudotime_stim∕IFN", "mean_change_stim∕IFN",
    ]  # fmt: skip
    places = basis.position(wanted.branch[:2, 0], wanted.along[:2, 0])
    np.testing.assert_allclose(
        table["where_pseudotime_stim∕IFN"][:2], places.distances_from(st.get.graph(adata, "tree"), root)
    )
    assert table["where_branch_stim∕IFN"].iloc[0] == f"B{wanted.branch[0, 0] + 1}"
    assert table.loc[["level", "shape"], "q_value"].max() < 0.01
    record = adata.uns["tree"]["condition_test"]
    assert {name: record[name] for name in ("condition", "sample", "n_samples", "left_out", "n_cells", "paired")} == {
        "condition": "stim",
        "sample": "donor",
        "n_samples": 6,
        "left_out": {"condition": 0, "sample": 0},
        "n_cells": 600,
        "paired": False,
    }
    assert list(record["conditions"]) == ["ctrl", "stim/IFN"]
    assert "exploratory" not in record
    assert "tree_association" not in adata.varm


def test_the_getter_reads_conditions(adata):
    with pytest.raises(KeyError, match=r"no 'tree_condition_test'. Run .*condition=\.\.\., key='tree'"):
        st.get.association(adata, "tree", test="condition")
    association(adata, condition="stim", sample="donor")
    table = st.get.association(adata, "tree", test="condition")
    assert list(table.columns[:5]) == ["names", "scores", "logfoldchanges", "pvals", "pvals_adj"]
    assert set(table["names"][:2]) == {"level", "shape"}
    assert table.attrs["condition"] == "stim"
    with pytest.raises(ValueError, match="test='group' is not known"):
        st.get.association(adata, "tree", test="group")
    with pytest.raises(ValueError, match="columns=True was given with test='condition'"):
        st.get.association(adata, "tree", test="condition", columns=True)


def test_genes_of_which_one_donor_tells_are_not_called_constant(adata):
    adata.obs["own"] = pd.Categorical(np.where(np.arange(adata.n_obs) == 5, "x", "y"))
    words = r"same value in all \d+ cells used \(mostly all zero\), or are measured well enough in at most one donor"
    with pytest.warns(UserWarning, match=words):
        st.tl.association(adata, key="tree", size_factors=None, sample="own")
    assert adata.varm["tree_association"]["p_value"].isna().all()


def test_donors_are_the_unit_of_every_test(adata):
    association(adata, sample="donor")
    basis, position, root = in_core(adata)
    donor = adata.obs["donor"].cat.codes.to_numpy(dtype=int)
    wanted = core.association(adata.X, basis, position, root, sample=donor)
    np.testing.assert_array_equal(adata.varm["tree_association"]["p_value"], wanted.p_value)
    assert adata.uns["tree"]["association"]["n_samples"] == 6
    fork = adata.uns["tree"]["order"]["forks"].index[0]
    for how in (dict(fork=fork), dict(between=("T1", "T2"))):
        with pytest.warns(UserWarning, match="have the same value"):
            st.tl.branch_test(adata, key="tree", size_factors=None, sample="donor", **how)
    records = adata.uns["tree"]["branch_test"]
    assert {record["sample"] for record in records.values()} == {"donor"}
    node = int(adata.uns["tree"]["order"]["forks"].loc[fork, "node"])
    dispersion = adata.varm["tree_association"]["dispersion"].to_numpy()
    arms = core.branch_test(adata.X, basis, position, root, node, sample=donor, dispersion=dispersion)
    np.testing.assert_array_equal(adata.varm["tree_branch_test"][f"{fork}_p_value"], arms.p_value)
    st.tl.association(adata, key="tree", columns="half", sample="donor")
    assert np.isfinite(adata.uns["tree"]["column_association"].loc["half", "p_value"])


def test_missing_values_are_left_out_and_counted(adata):
    some = adata.obs_names[:30]
    adata.obs.loc[some[:20], "donor"] = np.nan
    adata.obs.loc[some[10:], "stim"] = np.nan
    association(adata, condition="stim", sample="donor")
    record = adata.uns["tree"]["condition_test"]
    assert record["left_out"] == {"condition": 20, "sample": 20}
    assert record["n_cells"] == 570


def test_donors_with_several_conditions_are_paired(adata):
    adata.obs["half"] = adata.obs["half"].astype(str)
    association(adata, condition="half", sample="donor")
    record = adata.uns["tree"]["condition_test"]
    assert record["paired"]
    assert record["n_samples"] == 6


def test_results_survive_files_and_go_with_the_order(adata, tmp_path):
    association(adata, condition="stim", sample="donor")
    for kind in ("h5ad", "zarr"):
        again = written_and_read(adata, kind, tmp_path)
        equal(adata.varm["tree_condition_test"], again.varm["tree_condition_test"])
        equal(adata.uns["tree"]["condition_test"], again.uns["tree"]["condition_test"])
    st.tl.order(adata, root=0, key="tree")
    assert "tree_condition_test" not in adata.varm
    assert "condition_test" not in adata.uns["tree"]


@pytest.mark.parametrize(
    ("change", "arguments", "error", "words"),
    [
        ({}, dict(condition="who"), KeyError, r"condition='who' is not in adata.obs. Available: \['donor'"),
        ({}, dict(sample="who"), KeyError, "sample='who' is not in adata.obs"),
        ({}, dict(condition="stim", sample="stim"), ValueError, "condition and sample are both 'stim'"),
        (
            {"one": "x"},
            dict(sample="one"),
            ValueError,
            r"sample='one' gives \['x'\] to all 600 cells used; wanted at least",
        ),
        (
            {"each": [f"c{i}" for i in range(600)]},
            dict(sample="each"),
            ValueError,
            "sample='each' names another donor for each of the 600 cells used; wanted donors with several",
        ),
        (
            {"one": "x"},
            dict(condition="one"),
            ValueError,
            r"condition='one' gives \['x'\] to the 600 cells used; wanted at",
        ),
        (
            {"mixed": pd.Categorical([1, "1"] * 300)},
            dict(condition="mixed"),
            ValueError,
            r"condition='mixed' has the categories 1 and '1', which are written alike; wanted names that differ",
        ),
        ({"part": 0.5}, dict(sample="part"), TypeError, r"sample: adata.obs\['part'\] holds fractions"),
        (
            {"d0": True},
            dict(condition="d0", sample="donor"),
            ValueError,
            "condition 'True' has cells of one donor only",
        ),
        ({}, dict(condition="stim", columns="half"), ValueError, "condition= was given with columns="),
        ({}, dict(condition="stim", split=2), ValueError, "split= was given with condition="),
    ],
)
def test_errors_leave_everything_as_it_was(adata, change, arguments, error, words):
    for name, value in change.items():
        adata.obs[name] = (adata.obs["donor"] == "d0").to_numpy() if name == "d0" else value
    refused(adata, error, words, lambda: st.tl.association(adata, key="tree", size_factors=None, **arguments))


@pytest.mark.filterwarnings("ignore:Observation names are not unique")
def test_names_of_cells_need_not_be_unique(adata):
    association(adata, condition="stim", sample="donor")
    expected = adata.varm["tree_condition_test"].copy()
    adata.obs_names = ["c"] * adata.n_obs
    association(adata, condition="stim", sample="donor")
    equal(adata.varm["tree_condition_test"], expected)
