"""Close calls, and doubts, from what is stored."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from anndata import AnnData

import skeltraj as st
from samples import cells
from skeltraj.core._branches.prune import NEAR
from skeltraj.core._branches.starts import LITTLE_AGREEMENT, LITTLE_ORDER
from skeltraj.core._branches.tips import LITTLE_VALUE
from skeltraj.core._graph.empty_stretches import EmptyStretch
from skeltraj.get._reading.certainty import doubts, empty_stretch_warnings, in_a_line
from skeltraj.get._reading.close_calls import CloseCall, _rounded_down, _rounded_up, close_calls


@pytest.fixture(scope="module")
def fitted():
    """A tree with three tips, from several starts; to be copied before it is changed."""
    adata = cells(200, seed=2)
    st.tl.ddrtree(adata, n_starts=3)
    assert len(st.get.graph(adata).tips) == 3
    return adata


def said(adata, agreement=None, found=None, key="ddrtree"):
    """The doubts, with another agreement or other support from the starts."""
    fit = dict(adata.uns["ddrtree"])
    if agreement is not None:
        fit["agreement"] = np.full(3, agreement)
    if found is not None:
        fit["starts"] = fit["starts"].assign(found_again=found)
    return doubts(fit, st.get.graph(adata), key)


@pytest.mark.parametrize("gain", [0.0072, 0.0080123, 0.97, 1.0, 3.2e-9, 12.0, 0.0099999, 0.01])
def test_limits_that_are_proposed_have_two_digits_and_lie_on_the_other_side(gain):
    above, below = _rounded_up(gain), _rounded_down(gain)
    assert below < gain < above
    assert above - below <= 0.25 * gain
    assert all(float(f"{value:.2g}") == value for value in (above, below))


def test_calls_decide_otherwise():
    """The branch that just stayed goes, and the one that just went stays, with the call that is told."""
    adata = cells(200, seed=2)
    st.tl.ddrtree(adata, n_starts=1)
    gains = np.sort(adata.uns["ddrtree"]["pruned"]["kept"]["gain"])
    assert len(gains)
    calls = dict(st=st, adata=adata)
    st.tl.prune(adata, min_gain=gains[0] / 1.01)
    [call] = [one for one in close_calls(adata.uns["ddrtree"], "ddrtree") if one.gain == gains[0]]
    assert call.branch in st.get.graph(adata).branch_names
    assert call.turns == "drops it"
    n_tips = len(st.get.graph(adata).tips)
    eval(call.call, calls)
    assert len(st.get.graph(adata).tips) < n_tips
    st.tl.prune(adata, min_gain=gains[0] * 1.01)
    assert len(st.get.graph(adata).tips) < n_tips
    [call] = [one for one in close_calls(adata.uns["ddrtree"], "ddrtree") if np.isclose(one.gain, gains[0])]
    assert call.branch is None
    assert call.turns == "keeps it"
    assert "was pruned" in str(call)
    eval(call.call, calls)
    assert len(st.get.graph(adata).tips) == n_tips


def test_a_limit_that_is_far_away_is_no_close_call(fitted):
    fit = fitted.uns["ddrtree"]
    least = fit["pruned"]["kept"]["gain"].min()
    for min_gain, n in ((least / NEAR**2, 0), (least / 1.1, 1)):
        near = fit | {"pruned": fit["pruned"] | {"min_gain": min_gain, "report": fit["pruned"]["report"].iloc[:0]}}
        assert len(close_calls(near, "ddrtree")) >= n
        assert bool(close_calls(near, "ddrtree")) == bool(n)
    assert close_calls(fit | {"pruned": fit["pruned"] | {"min_gain": 0.0}}, "ddrtree") == []  # all that gain stay
    assert close_calls({name: value for name, value in fit.items() if name != "pruned"}, "ddrtree") == []


def test_calls_decide_otherwise_where_no_limit_leaves_the_tree():
    """The number of tips was chosen, and a branch went that gains more than one that stayed."""
    adata = AnnData(np.random.default_rng(0).normal(size=(90, 4)))
    st.tl.ddrtree(adata, n_starts=1, denoise=False)
    st.tl.prune(adata, n_tips=3)
    record = adata.uns["ddrtree"]["pruned"]
    least, branches = record["kept"]["gain"].min(), record["report"]["what"] == "branch"
    assert branches.any()
    record["report"].loc[branches[branches].index[-1], "gain"] = 1.1 * least
    record["min_gain"] = least  # as it is stored then
    calls = close_calls(adata.uns["ddrtree"], "ddrtree")
    assert [call.branch for call in calls] == [record["kept"].index[0], None]
    for call, n_tips in zip(calls, (2, 4), strict=True):
        assert "the number of tips was chosen" in str(call)
        there = adata.copy()
        eval(call.call, dict(st=st, adata=there))
        assert len(st.get.graph(there).tips) == n_tips


def test_calls_name_the_fit_and_a_resolution_that_is_not_the_usual_one(fitted):
    fit = fitted.uns["ddrtree"]
    record = fit["pruned"] | {"min_gain": fit["pruned"]["kept"]["gain"].min() / 1.1}
    usual = close_calls(fit | {"pruned": record}, "other")[0]
    assert usual.call.endswith(", key='other')")
    assert "resolution" not in usual.call
    odd = close_calls(fit | {"pruned": record | {"resolution": 0.125}}, "ddrtree")[0]
    assert ", resolution=0.125)" in odd.call
    assert "key" not in odd.call


def test_starts_that_agree_leave_no_doubt(fitted):
    assert said(fitted) == []
    assert said(fitted, agreement=LITTLE_AGREEMENT, found=[1, 0.5, 0.5]) == []


def test_starts_that_differ(fitted):
    [doubt] = said(fitted, agreement=0.46, found=[1, 0, 0.5])
    assert "the trees from other starts and from parts of the cells differ: agreement 0.46" in doubt
    assert "Most of them lack B2." in doubt
    assert "st.get.summary(adata)" in doubt
    assert "st.tl.stability(adata)" in doubt
    assert "(normalised, log-transformed and not scaled" in doubt
    assert "more cells help more often, more starts seldom." in doubt
    [other] = said(fitted, agreement=0.46, found=[1, 0, 0.5], key="mine")
    assert "st.get.summary(adata, key='mine')" in other
    # every start has every branch of this tree, others add to it
    assert said(fitted, agreement=0.46, found=[1, 1, 1]) == []


def test_numbers_beside_a_limit_show_on_which_side_they_are(fitted):
    [doubt] = said(fitted, agreement=0.746, found=[1, 0, 0.5])
    assert "agreement 0.746, where 1 is the same; below 0.75 the" in doubt
    close = CloseCall("B1", 10, 0.0070004, 0.0070001, "st.tl.prune(adata)")
    assert "(gain 0.0070004, limit 0.0070001)" in str(close)


def test_a_branch_that_most_starts_lack(fitted):
    [doubt] = said(fitted, agreement=0.9, found=[1, 0, 0.25])
    assert "lack B2 and B3 (of 3 branches; agreement on all 0.90)" in doubt
    gains = fitted.uns["ddrtree"]["pruned"]["kept"]["gain"]
    weakest = gains[["B2", "B3"]].idxmin()  # the first that the call drops
    assert f"or drop {weakest}: st.tl.prune(adata, min_gain={_rounded_up(gains[weakest])!r})" in doubt
    [doubt] = said(fitted, agreement=0.9, found=[1, 0, 1])
    assert f"or drop it: st.tl.prune(adata, min_gain={_rounded_up(gains['B2'])!r})" in doubt


def test_a_branch_that_most_starts_lack_goes_with_those_of_less_gain(fitted):
    gains = fitted.uns["ddrtree"]["pruned"]["kept"]["gain"]
    least, most = gains.index[0], gains.index[-1]
    [doubt] = said(fitted, agreement=0.9, found=np.where(gains.sort_index().index == most, 0, 1))
    less = ", ".join(gains.index[:-2]) + " and " + gains.index[-2]
    assert f"or drop it with {less}, of less gain: st.tl.prune(adata, min_gain={_rounded_up(gains[most])!r})" in doubt
    [doubt] = said(fitted, agreement=0.9, found=np.where(gains.sort_index().index == least, 0, 1))
    assert "of less gain" not in doubt


def test_what_is_stored_and_what_core_says_are_the_same_words():
    X = np.random.default_rng(3).standard_normal((90, 8))
    learned, adata = st.core.learn_tree(X), AnnData(X)
    with pytest.warns(UserWarning, match="differ: agreement"):
        st.tl.ddrtree(adata)
    [stored] = doubts(adata.uns["ddrtree"], st.get.graph(adata), "ddrtree", summed_up=True)
    stems = [text.split(" Try another")[0] for text in (learned.doubt, stored)]
    assert "Most of them lack" in stems[0]
    assert f"ddrtree: {stems[0].replace('rows', 'cells')}" == stems[1]


def with_values(fit, *values):
    """The fit with other values of the numbers of tips from 2 on."""
    numbers = pd.RangeIndex(2, 2 + len(values), name="n_tips")
    choice = pd.DataFrame({"agreement": 0.7, "gain": 0.01, "value": values}, index=numbers)
    return dict(fit) | {"tip_choice": choice}


def test_a_number_of_tips_of_little_value(fitted):
    graph = st.get.graph(fitted)
    fit = with_values(fitted.uns["ddrtree"], 0.1, 0.22, 0.2)
    [doubt] = doubts(fit, graph, "ddrtree")
    assert f"the number of tips, 3, is in doubt: its value is 0.22, and below {LITTLE_VALUE} few" in doubt
    assert "keep; 4 tips have 0.20: st.tl.prune(adata, n_tips=4)). Look" in doubt
    assert "st.tl.stability(adata)" in doubt
    [of_another] = doubts(fit, graph, "mine")
    assert "n_tips=4, key='mine')" in of_another
    [near] = doubts(with_values(fit, 0.1, 0.2495), graph, "ddrtree")
    assert "its value is 0.249," in near
    [no_other] = doubts(with_values(fit, 0.0, 0.2), graph, "ddrtree")
    assert "tips have" not in no_other
    on_disk = with_values(fit, 0.1, 0.22, 0.2)
    on_disk["tip_choice"].index = on_disk["tip_choice"].index.astype(str)
    assert doubts(on_disk, graph, "ddrtree") == [doubt]
    for entry in ("ingested", "attached", "path"):
        [there] = doubts(fit | {entry: {}}, graph, "ddrtree")
        assert "st." not in there
        assert "4 tips have 0.20)" in there


def test_the_summary_has_the_value_of_the_number_of_tips(fitted):
    adata = fitted.copy()
    assert st.get.summary(adata).value == adata.uns["ddrtree"]["tip_choice"]["value"].max()
    adata.uns["ddrtree"] = with_values(adata.uns["ddrtree"], 0.1, 0.22)
    assert st.get.summary(adata).value == 0.22
    assert "is in doubt" in repr(st.get.summary(adata))
    del adata.uns["ddrtree"]["tip_choice"]
    assert np.isnan(st.get.summary(adata).value)


def test_a_number_of_tips_that_is_not_in_doubt(fitted):
    graph, fit = st.get.graph(fitted), fitted.uns["ddrtree"]
    assert doubts(with_values(fit, 0.1, LITTLE_VALUE, 0.2), graph, "ddrtree") == []
    assert doubts(with_values(fit, 0.2, 0.1), graph, "ddrtree") == []  # a line: the order of its cells tells
    chosen_since = {name: value for name, value in fit.items() if name != "starts"}
    assert doubts(with_values(chosen_since, 0.1, 0.22, 0.2), graph, "ddrtree") == []
    given = {name: value for name, value in fit.items() if name != "tip_choice"}
    assert doubts(given, graph, "ddrtree") == []
    # one doubt is enough: that trees differ, or lack a branch
    fit = with_values(fit, 0.1, 0.22, 0.2) | {"starts": fit["starts"].assign(found_again=[1, 0, 0.25])}
    [doubt] = doubts(fit, graph, "ddrtree")
    assert "in doubt" not in doubt


@pytest.mark.parametrize(
    ("entry", "words"), [("ingested", "learned from other cells"), ("attached", "as it was learned"), ("path", "as it")]
)
def test_of_a_tree_that_cannot_be_learned_again_no_call_is_proposed(fitted, entry, words):
    fit = dict(fitted.uns["ddrtree"]) | {entry: {}}
    fit["pruned"] = fit["pruned"] | {"min_gain": fit["pruned"]["kept"]["gain"].min() / 1.1}
    for agreement, found in ((0.46, [1, 0, 0.5]), (0.9, [1, 0, 0.25])):
        fit |= {"agreement": np.full(3, agreement), "starts": fit["starts"].assign(found_again=found)}
        [doubt] = doubts(fit, st.get.graph(fitted), "ddrtree", summed_up=True)
        assert "st." not in doubt
        assert "more starts" not in doubt
        assert words in doubt
    if entry == "ingested":
        assert close_calls(fit, "ddrtree") == []


def test_of_a_kernel_no_replicates_are_proposed(fitted):
    fit = dict(fitted.uns["ddrtree"]) | {"agreement": np.full(3, 0.46)}
    fit |= {"params": fit["params"] | {"kernel_key": "kernel"}, "starts": fit["starts"].assign(found_again=[1, 0, 0.5])}
    [doubt] = doubts(fit, st.get.graph(fitted), "ddrtree")
    assert "Try another preparation" in doubt
    assert "st.tl.stability" not in doubt


def test_of_one_start_nothing_is_said(fitted):
    fit = {name: value for name, value in fitted.uns["ddrtree"].items() if name not in ("agreement", "starts")}
    assert doubts(fit, st.get.graph(fitted), "ddrtree") == []
    assert "agreement" not in in_a_line(fit, st.get.graph(fitted), "ddrtree")


def test_the_line_says_what_was_learned(fitted):
    fit, graph = dict(fitted.uns["ddrtree"]), st.get.graph(fitted)
    fit["pruned"] = fit["pruned"] | {"min_gain": 1e-12, "report": fit["pruned"]["report"].iloc[:0]}
    fit["agreement"] = np.array([0.5, 0.912, 0.7])
    line = in_a_line(fit, graph, "ddrtree")
    counts = f"{graph.n_nodes} nodes, {fit['n_iter']} rounds"
    assert line == f"ddrtree: 3 tips, 1 fork, 3 branches ({counts}); agreement 0.91 (3 starts)"
    many = pd.DataFrame({"start": 0, "end": 1, "length": 1.0, "n_cells": 9, "gain": 0.011}, index=list("abcdefgh"))
    fit["pruned"] = fit["pruned"] | {"min_gain": 0.01, "kept": many}
    first, *rest = in_a_line(fit, graph, "ddrtree").splitlines()
    assert first == line
    assert len(rest) == 6
    assert rest[0] == "    a only just stayed (gain 0.011, limit 0.01): st.tl.prune(adata, min_gain=0.012) drops it"
    assert rest[-1] == "    3 more near the limit: st.get.summary(adata)"


@pytest.fixture(scope="module")
def cloud():
    """Noise alone, of which the tree is a line."""
    adata = AnnData(np.random.default_rng(0).standard_normal((150, 30)))
    with pytest.warns(UserWarning, match="the tree is a line, but .* differently: rank correlation 0.[0-6]"):
        st.tl.ddrtree(adata)
    assert len(st.get.graph(adata).tips) == 2
    assert adata.uns["ddrtree"]["agreement"].max() == 1  # lines agree on their branch, whatever they are lines of
    return adata


def test_a_cloud_is_no_line(cloud):
    fit, graph = cloud.uns["ddrtree"], st.get.graph(cloud)
    order = float(fit["starts"]["order"].iloc[0])
    [doubt] = doubts(fit, graph, "ddrtree")
    assert f"rank correlation {order:.2f} on average" in doubt
    assert "st.pl.graph(adata) draws" in doubt
    [of_another] = doubts(fit, graph, "other")
    assert "st.pl.graph(adata, key='other') draws" in of_another
    said = st.get.summary(cloud)
    assert said.order == order
    assert said.doubts == (doubt,)
    assert f"rank correlation of the order {order:.2f}" in " ".join(repr(said).split())
    [ingested] = doubts(fit | {"ingested": {}}, graph, "ddrtree")
    assert "st." not in ingested
    assert doubts(fit | {"agreement": np.ones(1)}, graph, "ddrtree") == []
    enough = fit["starts"].assign(order=LITTLE_ORDER)
    assert doubts(fit | {"starts": enough}, graph, "ddrtree") == []


def test_a_line_has_its_cells_in_one_order():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.linspace(0, 9, 150), np.zeros((150, 5))]) + 0.5 * rng.standard_normal((150, 6))
    adata = AnnData(X)
    st.tl.ddrtree(adata)
    assert st.get.summary(adata).order > 0.95
    assert adata.uns["ddrtree"]["starts"].columns.tolist() == ["support", "found_again", "order"]
    st.tl.ddrtree(adata, n_starts=3, prune={"min_gain": 0.01}, key_added="limited")
    assert st.get.summary(adata, "limited").order > 0.95


def test_a_ring_is_no_line():
    rng = np.random.default_rng(0)
    phase = rng.uniform(0, 2 * np.pi, 200)
    X = np.column_stack([np.cos(phase), np.sin(phase), np.zeros((200, 4))]) + 0.1 * rng.standard_normal((200, 6))
    adata = AnnData(X)
    with pytest.warns(UserWarning, match="a line whose ends are near each other, 8 % of its length apart"):
        st.tl.ddrtree(adata)
    fit, graph = adata.uns["ddrtree"], st.get.graph(adata)
    [doubt] = doubts(fit | {"starts": fit["starts"].assign(order=0.6)}, graph, "ddrtree")
    assert "or a cycle, which has no ends" in doubt
    open_ring = X[(phase > 1) & (phase < 5.7)]
    adata = AnnData(open_ring)
    st.tl.ddrtree(adata)  # without a warning
    assert len(st.get.graph(adata).tips) == 2


def test_a_tree_with_forks_has_no_such_number(fitted):
    assert "order" not in fitted.uns["ddrtree"]["starts"]
    assert np.isnan(st.get.summary(fitted).order)


def stretch(branch, share, n_beyond, tips=()):
    return EmptyStretch(branch, 0.0, 1.0, share, n_beyond, tuple(tips))


def test_all_stretches_without_cells_are_told_at_once():
    assert empty_stretch_warnings([]) == []
    [one] = empty_stretch_warnings([stretch("B1", 0.16, 1, ["T6"])])
    assert one.startswith(
        "No cell lies on a stretch of B1 that is 16 % of the tree's length, with 1 cell beyond it (T6). "
    )
    assert "grows along it, but" in one
    many = [stretch(f"B{i}", 0.2 - i / 100, 10 + i, [f"T{i}"]) for i in range(1, 9)]
    [some] = empty_stretch_warnings([many[0], stretch("B9", 0.0871, 30)])
    assert "(T1). There are others: 9 % on B9 (30 cells beyond). Pseudotime grows along them, but" in some
    [all_of_them] = empty_stretch_warnings(many)
    assert "others: 18 % on B2 (12 cells beyond, T2), " in all_of_them
    assert "15 % on B5 (15 cells beyond, T5) and 3 more. Pseudotime" in all_of_them
    assert "B6" not in all_of_them
