"""Time to event stored in AnnData: tables, covariates, what is left out, errors, round trips."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import skeltraj as st
from samples import rings, shared
from stored import equal, refused, same, snapshot, written_and_read

TABLES = ("coefficients", "tests", "models", "branches", "stretches", "branch_curves", "stretch_curves")


@pytest.fixture(scope="module")
def _followed(three_arms):
    adata = three_arms.copy()
    st.tl.order(adata, root={"stage": "stem"})
    rng = np.random.default_rng(0)
    place = adata.obs["ddrtree_pseudotime"] / adata.obs["ddrtree_pseudotime"].std()
    adata.obs["age"] = rng.normal(60, 8, 300).round()
    lasting = rng.exponential(50 / np.exp(0.5 * place + 0.04 * (adata.obs["age"] - 60)))
    observed = rng.uniform(10, 60, 300)
    adata.obs["months"] = np.minimum(lasting, observed).round(1)
    adata.obs["dead"] = lasting <= observed
    adata.obs["grade"] = rng.integers(1, 4, 300).astype(str)
    return adata


@pytest.fixture
def adata(_followed):
    return _followed.copy()


def test_tables_hold_what_core_finds_under_the_names_of_branches(adata):
    before = snapshot(adata)
    assert st.tl.survival(adata, "months", "dead", covariates=["age"]) is None
    assert "survival" not in before.uns["ddrtree"]
    equal({k: v for k, v in adata.uns["ddrtree"].items() if k != "survival"}, dict(before.uns["ddrtree"]))
    tables = st.get.survival(adata)
    time, dead, place, branch = (adata.obs[name] for name in ("months", "dead", "ddrtree_pseudotime", "ddrtree_branch"))
    raw = st.core.survival(
        time.to_numpy(),
        dead.to_numpy(),
        place.to_numpy(),
        branch.cat.codes.to_numpy(),
        covariates=adata.obs[["age"]].to_numpy(),
        covariate_names=["age"],
    )
    reference = branch.value_counts().index[0]
    assert tables.reference == reference
    others = [name for name in branch.cat.categories if name != reference]
    assert list(tables.coefficients["term"]) == ["pseudotime", "age", *others, "age"]
    assert list(tables.coefficients["model"]) == ["pseudotime"] * 2 + ["branch"] * 3
    both = [raw.pseudotime, raw.branch]
    for name in ("log_hazard_ratio", "standard_error", "z", "p_value", "proportional_chi2", "proportional_slope"):
        np.testing.assert_array_equal(tables.coefficients[name], np.concatenate([getattr(m, name) for m in both]))
    np.testing.assert_array_equal(tables.coefficients["low"], np.exp(np.concatenate([m.low for m in both])))
    assert 0.2 < tables.coefficients["log_hazard_ratio"][0] < 0.9
    assert tables.p_value("pseudotime", "likelihood ratio") == raw.pseudotime.likelihood_ratio.p_value < 1e-3
    assert tables.p_value("pseudotime", "linearity") == raw.linearity.p_value
    assert tables.p_value("branch", "proportional hazards") == raw.branch.proportional.p_value
    assert tables.p_value("branch", "proportional hazards, with covariates") == raw.branch.proportional_all.p_value
    assert tables.p_value("branch", "log-rank") == raw.log_rank.p_value
    assert tables.p_value("stretch", "log-rank") == raw.log_rank_of_stretches.p_value
    assert len(tables.tests) == 9
    assert np.isnan(tables.p_value("stretch", "linearity"))
    np.testing.assert_array_equal(tables.models["concordance"], [m.concordance for m in both])
    table = tables.branches.set_index("branch")
    assert table["n_samples"].to_dict() == branch.value_counts().to_dict()
    assert table["n_events"].to_dict() == dead.groupby(branch, observed=True).sum().to_dict()
    for name, group in zip(branch.cat.categories, raw.branches, strict=True):
        assert table.loc[name, "median"] == group.median
        assert table.loc[name, "restricted_mean_low"] == group.restricted_mean_low
        curve = tables.branch_curves[tables.branch_curves["branch"] == name]
        np.testing.assert_array_equal(curve["survival"], group.curve.survival)
        np.testing.assert_array_equal(curve["n_censored"], group.curve.n_censored)
    stretches = tables.stretches
    assert list(stretches["stretch"]) == [1, 2, 3]
    for row in stretches.itertuples():
        inside = (place > row.start if row.stretch > 1 else place >= row.start) & (place <= row.end)
        assert row.n_samples == inside.sum()
    assert (tables.n_samples, tables.n_events) == (300, dead.sum())
    assert tables.left_out == {"time": 0, "event": 0, "pseudotime": 0, "age": 0}
    assert (tables.time, tables.event, tables.covariates) == ("months", "dead", ["age"])
    assert tables.pseudotime_sd == pytest.approx(place.std())


def test_groups_as_covariates_have_a_coefficient_each_but_for_the_first(adata):
    adata.obs["grade"] = pd.Categorical(adata.obs["grade"], categories=["3", "1", "2", "4"])
    adata.obs["smokes"] = np.arange(300) % 2 == 0
    st.tl.survival(adata, "months", "dead", covariates=["grade", "smokes"])
    tables = st.get.survival(adata)
    assert list(tables.coefficients["term"][:4]) == ["pseudotime", "grade=1", "grade=2", "smokes"]
    by_hand = np.column_stack([adata.obs["grade"] == "1", adata.obs["grade"] == "2", adata.obs["smokes"]])
    raw = st.core.survival(
        *(adata.obs[c].to_numpy() for c in ("months", "dead", "ddrtree_pseudotime")),
        adata.obs["ddrtree_branch"].cat.codes.to_numpy(),
        covariates=by_hand.astype(float),
    )
    np.testing.assert_array_equal(tables.coefficients["z"][:4], raw.pseudotime.z)
    assert tables.covariates == ["grade", "smokes"]


@pytest.mark.parametrize("lost", ["1", "3"])  # the first, and another
def test_groups_that_lack_another_covariate_have_no_coefficient(adata, lost):
    adata.obs.loc[adata.obs["grade"] == lost, "age"] = np.nan
    st.tl.survival(adata, "months", "dead", covariates=["grade", "age"])
    tables = st.get.survival(adata)
    kept = adata[adata.obs["grade"] != lost].copy()
    st.tl.survival(kept, "months", "dead", covariates=["grade", "age"])
    again = st.get.survival(kept)
    assert [term for term in again.coefficients["term"][:4] if "grade" in term] == [
        f"grade={'3' if lost == '1' else 2}"
    ]
    for name in TABLES:
        pd.testing.assert_frame_equal(getattr(tables, name), getattr(again, name))


def test_samples_that_lack_something_are_left_out_and_counted(adata):
    adata.obs["dead"] = adata.obs["dead"].astype("boolean")
    adata.obs["grade"] = adata.obs["grade"].astype("category")
    for start, column in enumerate(("months", "dead", "ddrtree_pseudotime", "age", "grade")):
        adata.obs.loc[adata.obs_names[6 * start : 6 * start + 8], column] = pd.NA if column == "dead" else np.nan
    st.tl.survival(adata, "months", "dead", covariates=["age", "grade"])
    tables = st.get.survival(adata)
    assert tables.left_out == {"time": 8, "event": 6, "pseudotime": 6, "age": 6, "grade": 6}
    assert tables.n_samples == 268
    kept = adata[32:].copy()
    st.tl.survival(kept, "months", "dead", covariates=["age", "grade"])
    again = st.get.survival(kept)
    for name in TABLES:
        pd.testing.assert_frame_equal(getattr(tables, name), getattr(again, name))


@pytest.mark.parametrize(
    "kind", ["bool", "int", "float", "boolean", "category of 0 and 1", "object of bools", "category of bools"]
)
def test_any_way_to_write_yes_and_no_gives_the_same(adata, kind):
    st.tl.survival(adata, "months", "dead")
    first = st.get.survival(adata)
    dead = adata.obs["dead"]
    if kind.startswith("category of 0"):
        adata.obs["dead"] = dead.astype(int).astype("category")
    elif kind.startswith("object"):
        adata.obs["dead"] = dead.astype(object)
    elif kind.startswith("category"):
        adata.obs["dead"] = dead.astype("category")
    else:
        adata.obs["dead"] = dead.astype(kind)
    st.tl.survival(adata, "months", "dead")
    pd.testing.assert_frame_equal(st.get.survival(adata).coefficients, first.coefficients)


def test_branches_and_reference_are_chosen_by_name(adata):
    names = list(adata.obs["ddrtree_branch"].cat.categories)
    st.tl.survival(adata, "months", "dead", branches=names[:2], reference=names[1])
    tables = st.get.survival(adata)
    assert tables.reference == names[1]
    assert list(tables.coefficients["term"]) == ["pseudotime", names[0]]
    assert list(tables.branches["branch"]) == list(tables.branches["branch"].cat.categories) == names[:2]
    n = adata.obs["ddrtree_branch"].isin(names[:2]).sum()
    assert list(tables.models["n_samples"]) == [300, n]
    st.tl.survival(adata, "months", "dead", branches=names[0])
    tables = st.get.survival(adata)
    assert tables.reference is None
    assert list(tables.models["model"]) == ["pseudotime"]
    assert list(tables.tests["of"].unique()) == ["pseudotime", "stretch"]


def test_it_is_written_and_read_and_goes_with_its_order(adata, tmp_path):
    st.tl.survival(adata, "months", "dead", covariates="age", n_stretches=2, horizon=30)
    kept = st.get.survival(adata)
    for kind in ("h5ad", "zarr"):
        back = st.get.survival(written_and_read(adata, kind, tmp_path))
        for name in TABLES:
            equal(getattr(kept, name), getattr(back, name))
        rest = {k: v for k, v in vars(kept).items() if k not in TABLES}
        assert rest == {k: v for k, v in vars(back).items() if k not in TABLES}
    alone = adata.copy()
    st.tl.survival(alone, "months", "dead", branches=["B1"])
    assert st.get.survival(written_and_read(alone, "h5ad", tmp_path)).covariates == []
    part = adata[:50].copy()
    assert st.get.survival(part).n_samples == 300  # what was found, not what is there
    st.tl.order(adata, root=0)
    assert "survival" not in adata.uns["ddrtree"]
    with pytest.raises(
        KeyError, match=r"no time to event is stored in adata.uns\['ddrtree'\]. Run skeltraj.tl.surviva"
    ):
        st.get.survival(adata)


def test_copies_views_and_keys_do_not_touch_one_another(adata):
    before = snapshot(adata)
    new = st.tl.survival(adata, "months", "dead", copy=True)
    same(adata, before)
    assert "survival" in new.uns["ddrtree"]
    view = adata[:200]
    with pytest.warns(UserWarning, match="view"):
        st.tl.survival(view, "months", "dead")
    assert view.uns["ddrtree"]["survival"]["params"]["n_samples"] == 200
    same(adata, before)


def test_parts_without_the_root_are_left_out():
    adata = rings()
    st.tl.principal_graph(adata, n_nodes=40)
    with pytest.warns(UserWarning, match="components without the root|No lineage was found"):
        st.tl.order(adata, root=0, key="principal_graph")
    rng = np.random.default_rng(0)
    adata.obs["t"], adata.obs["e"] = rng.exponential(size=1000), rng.random(1000) < 0.5
    st.tl.survival(adata, "t", "e", key="principal_graph")
    tables = st.get.survival(adata, "principal_graph")
    assert tables.left_out == {"time": 0, "event": 0, "pseudotime": 500}
    assert tables.branches["n_samples"].sum() == tables.n_samples == 500


def test_errors_come_before_anything_is_stored(adata):
    adata.obs["vital"] = np.where(adata.obs["dead"], "1:DECEASED", "0:LIVING")
    adata.obs["cause"] = pd.Categorical(np.where(adata.obs["dead"], "Died of Disease", "Living"))
    adata.obs["status"] = adata.obs["dead"] + 1
    adata.obs["when"] = pd.date_range("2020", periods=300)
    adata.obs["twice"] = 2 * adata.obs["age"] + 1
    adata.obs["pseudotime"] = adata.obs["age"] ** 2
    adata.obs["one"], adata.obs["id"] = "x", adata.obs_names
    adata.obs["minus"] = adata.obs["months"] - 5
    adata.obs["nobody"], adata.obs["unknown"] = False, pd.Categorical([None] * 300)
    adata.obs["endless"] = adata.obs["age"].where(adata.obs["age"] > adata.obs["age"].min(), np.inf)
    adata.obs["not B1"] = adata.obs["dead"] & (adata.obs["ddrtree_branch"] != "B1")
    columns = r"Available: \['age', 'cause'"
    for changed, kind, message in (
        ({"time": "mnths"}, KeyError, f"time='mnths' is not in adata.obs. {columns}"),
        ({"event": "ded"}, KeyError, f"event='ded' is not in adata.obs. {columns}"),
        ({"covariates": ["age", "agee"]}, KeyError, f"covariates: 'agee' is not in adata.obs. {columns}"),
        ({"time": "grade"}, TypeError, r"time: adata.obs\['grade'\] is of type .*; wanted numbers \(days, months\)"),
        ({"time": "dead"}, TypeError, r"time: adata.obs\['dead'\] is of type bool; wanted numbers"),
        ({"time": "minus"}, ValueError, r"time: \d+ of 300 values are negative, the least is -\d"),
        (
            {"event": "vital"},
            TypeError,
            r"event: adata.obs\['vital'\] holds \['0:LIVING', '1:DECEASED'\]; wanted 1 where .* for example "
            r"adata.obs\['event'\] = adata.obs\['vital'\].astype\(object\).map\(\{'0:LIVING': 0, '1:DECEASED': 1\}\)"
            r".astype\(float\)\.",
        ),
        ({"event": "cause"}, TypeError, r"holds \['Died of Disease', 'Living'\].*\{'Died of Disease': ..., 'Living': "),
        ({"event": "id"}, TypeError, r"'cell101', 'cell102'\] and more; .*'cell102': ..., ...\}"),
        ({"event": "when"}, TypeError, r"event: adata.obs\['when'\] holds"),
        ({"event": "status"}, ValueError, r"event: the values are \[1.0, 2.0\]; wanted 0"),
        ({"event": "nobody"}, ValueError, "event: none of the 300 samples used has it"),
        ({"event": "not B1"}, ValueError, r"branches without events: \['B1'\].*with events are \['B2', 'B3'\]"),
        ({"covariates": "pseudotime"}, ValueError, "'pseudotime' is what the models call a term of the tree"),
        ({"covariates": ["age", "age"]}, ValueError, r"covariates=\['age', 'age'\] names 'age' twice"),
        ({"covariates": ["age", "months"]}, ValueError, r"covariates: 'months' is the time or the event itself"),
        ({"covariates": "dead"}, ValueError, r"covariates: 'dead' is the time or the event itself"),
        ({"covariates": ["age", "twice"]}, ValueError, r"'twice' follows from \['age'\] for all 300 samples used"),
        ({"covariates": ["ddrtree_branch"]}, ValueError, r"'ddrtree_branch=B\d' follows from \['B\d"),
        ({"covariates": "unknown"}, ValueError, r"adata.obs\['unknown'\] has no value in any of the \d+ cells"),
        ({"covariates": "endless"}, ValueError, r"covariates: adata.obs\['endless'\] holds infinite values"),
        ({"horizon": 1e6}, ValueError, r"horizon=1e\+06 is beyond the longest time, [\d.]+; wanted at most that"),
        ({"covariates": "one"}, ValueError, "covariates: 'one' is 'x' for all 300 cells used"),
        ({"covariates": "id"}, ValueError, r"adata.obs\['id'\] has 300 groups; wanted numbers, or at most 100 groups"),
        ({"covariates": "when"}, TypeError, r"adata.obs\['when'\] is of type datetime64.*wanted numbers or groups"),
        ({"branches": ["B1", "B9"]}, KeyError, r"branches: there is no 'B9'. Available: \['B1', 'B2', 'B3'\]"),
        ({"reference": "B9"}, KeyError, r"reference='B9' is none of the branches to compare. Available: \['B1'"),
        ({"n_stretches": 0}, ValueError, "n_stretches=0 is out of range"),
        ({"key": "tree"}, KeyError, "no skeleton is stored as adata.uns"),
    ):
        given = dict(time="months", event="dead") | changed
        refused(adata, kind, message, lambda given=given: st.tl.survival(adata, **given))
    few = adata[adata.obs["dead"].to_numpy().cumsum() < 9].copy()
    with (
        pytest.warns(UserWarning, match="8 events for the 2 coefficients of the model of branches: with fewer than 10"),
        pytest.warns(UserWarning, match="9 samples in 3 stretches of pseudotime are 3 for each"),
    ):
        st.tl.survival(few, "months", "dead")
    unordered = adata.copy()
    del unordered.uns["ddrtree"]["order"]
    with pytest.raises(KeyError, match="the cells have not been ordered along"):
        st.tl.survival(unordered, "months", "dead")


@pytest.mark.compiled("2,000 patients")
@pytest.mark.filterwarnings("ignore:The root")
def test_metabric_as_by_hand():
    """A tree of METABRIC: hazard of death of the disease rises along it, adjusted for age."""
    adata = st.datasets.metabric(shared("data/metabric/METABRIC_RNA_Mutation.csv.gz"))
    adata.obs["disease"] = (adata.obs["death_from_cancer"] == "Died of Disease").astype(float)
    adata.obs.loc[adata.obs["death_from_cancer"].isna(), "disease"] = np.nan
    st.tl.ddrtree(adata, n_starts=1)
    st.tl.order(adata, root={"subtype": "normal-like"})
    st.tl.survival(adata, "overall_survival_months", "disease", covariates=["age_at_diagnosis"])
    tables = st.get.survival(adata)
    assert tables.left_out == {"time": 0, "event": 1, "pseudotime": 0, "age_at_diagnosis": 0}
    assert (tables.n_samples, tables.n_events) == (1903, 622)
    along = tables.coefficients.iloc[0]
    assert along["low"] > 1.05
    assert along["high"] < 1.4
    assert tables.p_value("branch", "likelihood ratio") < 1e-6
