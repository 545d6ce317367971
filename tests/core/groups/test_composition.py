"""Groups on branches and along pseudotime: against all relabelings, one by one; calibration; known answers."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from skeltraj import core
from skeltraj.core._groups.differences import _MAX_PLACES


def all_relabelings(group, sample, mode):
    """Every different way to give the labels, by listing the orders of all labels."""
    distinct = lambda labels: sorted(set(permutations(labels)))
    if mode == "cells":
        return [np.array(way) for way in distinct(group)]
    names = sorted(set(sample))
    if mode == "samples":
        one = [group[sample == s][0] for s in names]
        return [np.array([way[names.index(s)] for s in sample]) for way in distinct(one)]
    relabelings = []
    by_groups = mode == "groups within samples"
    of = {s: np.unique(group[sample == s]) if by_groups else group[sample == s] for s in names}
    for parts in product(*(distinct(of[s]) for s in names)):
        labels = np.empty(len(group), dtype=int)
        for s, part in zip(names, parts, strict=True):
            own = group[sample == s]
            labels[sample == s] = np.array(part)[np.searchsorted(of[s], own)] if by_groups else part
        relabelings.append(labels)
    return relabelings


def weights(group, sample, mode):
    """Of each cell: 1, or such that samples, or the groups of samples, count alike."""
    if mode not in ("samples", "groups within samples"):
        return np.ones(len(group))
    part = np.unique(sample * 10 + group, return_inverse=True)[1]
    size = np.bincount(part)
    return (len(group) / len(size) / size)[part]


def differences(group, branch, time, weight):
    """Of each group from the rest: shares on branches, chance of coming later less earlier, cumulative shares."""
    rows = []
    for g in np.unique(group):
        own, rest = group == g, group != g
        share = lambda which, chosen: weight[which & chosen].sum() / weight[which].sum()
        on = [share(own, branch == b) - share(rest, branch == b) for b in np.unique(branch)]
        later = sum(
            weight[i] * weight[j] * np.sign(time[i] - time[j])
            for i in np.flatnonzero(own)
            for j in np.flatnonzero(rest)
        ) / (weight[own].sum() * weight[rest].sum())
        up_to = [share(own, time <= t) - share(rest, time <= t) for t in np.unique(time)]
        rows.append((on, later, up_to))
    return [np.array(part) for part in zip(*rows, strict=True)]


def chi_square(group, branch, weight, even):
    total = 0.0
    for i, g in enumerate(np.unique(group)):
        for j, b in enumerate(np.unique(branch)):
            total += (weight[(group == g) & (branch == b)].sum() - even[i, j]) ** 2 / even[i, j]
    return total


SMALL = {
    "cells": (np.array([0, 0, 0, 0, 1, 1, 1, 2]), None),
    "samples": (np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0]), np.array([0, 0, 1, 1, 1, 2, 3, 3, 3, 3, 4, 5])),
    "cells within samples": (np.array([0, 0, 1, 0, 1, 1, 1, 1, 0]), np.array([4, 4, 4, 4, 2, 2, 2, 7, 2])),
    "groups within samples": (
        np.array([0, 0, 1, 2, 1, 1, 1, 1, 0, 2, 2, 0, 0]), np.array([4, 4, 4, 4, 2, 2, 2, 7, 2, 7, 3, 7, 4])
    ),
}  # fmt: skip


def within(mode):
    return {"within_samples": "cells"} if mode == "cells within samples" else {}


@pytest.mark.parametrize("mode", SMALL)
@pytest.mark.parametrize("seed", range(3))
def test_all_relabelings_one_by_one(mode, seed):
    group, sample = SMALL[mode]
    n, rng = len(group), np.random.default_rng(seed)
    branch, time = rng.integers(0, 2, n), np.round(rng.random(n), 1)  # with ties
    branch[:2] = [0, 1]
    weight = weights(group, sample, mode)
    n_permutations = 4000
    result = core.composition(group, branch, time, sample=sample, n_permutations=n_permutations, **within(mode))
    assert result.permuted == mode
    ways = all_relabelings(group, sample, mode)
    assert result.n_distinct == len(ways)

    every = [differences(way, branch, time, weight) for way in ways]
    mean = [np.mean(part, axis=0) for part in zip(*every, strict=True)]
    beyond = [[a - b for a, b in zip(way, mean, strict=True)] for way in every]
    of_table = lambda part: (np.abs(part[0]), np.abs(part[1]), np.abs(part[2]).max(axis=1))
    own = [a - b for a, b in zip(differences(group, branch, time, weight), mean, strict=True)]
    np.testing.assert_allclose(result.shift, own[1], atol=1e-12)
    np.testing.assert_allclose(result.largest_gap, np.abs(own[2]).max(axis=1), atol=1e-12)
    wanted = [np.mean([x >= y - 1e-9 for x in part], axis=0) for part, y in zip(
        zip(*map(of_table, beyond), strict=True), of_table(own), strict=True
    )]  # fmt: skip
    sd = lambda p: 5 * np.sqrt(p * (1 - p) / n_permutations) + 2 / n_permutations
    for p, exact in zip((result.p_value, result.shift_p_value, result.gap_p_value), wanted, strict=True):
        assert (np.abs(p - exact) <= sd(exact)).all()

    sums = lambda way: np.array([[weight[(way == g) & (branch == b)].sum() for b in (0, 1)] for g in np.unique(group)])
    even = np.mean([sums(way) for way in ways], axis=0)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(result.log2_enrichment, np.log2(sums(group) / even), atol=1e-12)
    chi2 = np.array([chi_square(way, branch, weight, even) for way in ways])
    assert result.chi2 == pytest.approx(chi_square(group, branch, weight, even))
    exact = np.mean(chi2 >= result.chi2 - 1e-9)
    assert abs(result.chi2_p_value - exact) <= sd(exact)
    shown = sums(group)
    if mode == "groups within samples":  # samples count alike within a group, which keeps its number of cells
        shown = shown / shown.sum(axis=1, keepdims=True) * np.bincount(group)[:, None]
    np.testing.assert_allclose(result.share_of_branch, shown / shown.sum(axis=0))
    np.testing.assert_allclose(result.share_of_group, shown / shown.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(
        result.counts, [[((group == g) & (branch == b)).sum() for b in (0, 1)] for g in np.unique(group)]
    )


@pytest.mark.parametrize("mode", SMALL)
@pytest.mark.parametrize("seed", range(3))
def test_pairs_within_branches_against_all_relabelings(mode, seed):
    group, sample = SMALL[mode]
    rng = np.random.default_rng(seed)
    branch, time = rng.integers(0, 2, len(group)), rng.random(len(group))
    branch[:2] = [0, 1]
    progress = core.composition(group, branch, time, sample=sample, n_permutations=4000, **within(mode)).progress
    rows = list(zip(progress.first, progress.second, progress.branch, strict=True))
    both = lambda a, b, at: ((group == a) & (branch == at)).any() and ((group == b) & (branch == at)).any()
    assert rows == [(a, b, at) for at in (0, 1) for a in range(3) for b in range(a + 1, 3) if both(a, b, at)]
    for (a, b, at), difference, p in zip(rows, progress.difference, progress.p_value, strict=True):
        there = (branch == at) & ((group == a) | (group == b))
        labels, t, of = group[there], time[there], None if sample is None else sample[there]

        def apart(way, a=a, b=b, t=t, of=of):
            if mode == "groups within samples":  # of the samples that have both
                means = [[t[(of == s) & (way == g)] for g in (a, b)] for s in np.unique(of)]
                return np.mean([x.mean() - y.mean() for x, y in means if len(x) and len(y)])
            if mode == "samples":
                mean = lambda g: np.mean([t[of == s].mean() for s in np.unique(of[way == g])])
            else:
                mean = lambda g: t[way == g].mean()
            return mean(a) - mean(b)

        if "within" in mode and not any(len(np.unique(labels[of == s])) == 2 for s in np.unique(of)):
            assert np.isnan(difference)
            assert np.isnan(p)
            continue
        every = np.array([apart(way) for way in all_relabelings(labels, of, mode)])
        assert difference == pytest.approx(apart(labels) - every.mean(), abs=1e-12)
        exact = np.mean(np.abs(every - every.mean()) >= abs(difference) - 1e-9)
        assert abs(p - exact) <= 5 * np.sqrt(exact * (1 - exact) / 4000) + 2 / 4000


def test_statistics_are_scipys_where_it_has_them():
    rng = np.random.default_rng(0)
    group, branch, time = rng.integers(0, 3, 200), rng.integers(0, 4, 200), rng.random(200)
    result = core.composition(group, branch, time, n_permutations=300)
    table = stats.contingency.crosstab(group, branch).count
    np.testing.assert_array_equal(result.counts, table)
    expected = stats.contingency.expected_freq(table)
    assert result.chi2 == pytest.approx(stats.chi2_contingency(table, correction=False).statistic)
    assert result.chi2_p_value == pytest.approx(stats.chi2_contingency(table, correction=False).pvalue, abs=0.15)
    np.testing.assert_allclose(result.log2_enrichment, np.log2(table / expected))
    for g in range(3):
        own, rest = time[group == g], time[group != g]
        gap = stats.ks_2samp(own, rest)
        assert result.largest_gap[g] == pytest.approx(gap.statistic)
        assert result.gap_p_value[g] == pytest.approx(gap.pvalue, abs=0.15)
        rank_sum = stats.mannwhitneyu(own, rest)
        assert result.shift[g] == pytest.approx(2 * rank_sum.statistic / len(own) / len(rest) - 1)
        assert result.shift_p_value[g] == pytest.approx(rank_sum.pvalue, abs=0.15)


def test_with_many_cells_gaps_are_read_at_quantiles():
    rng = np.random.default_rng(0)
    n = 5 * _MAX_PLACES
    group = rng.integers(0, 2, n)
    time = rng.random(n) + 0.1 * group
    result = core.composition(group, np.zeros(n, dtype=int), time, n_permutations=20)
    exact = stats.ks_2samp(time[group == 0], time[group == 1]).statistic
    assert exact - 2 / _MAX_PLACES <= result.largest_gap[0] <= exact


def test_known_answers():
    # group 0 lies on branch 0 and comes first, group 1 on branch 1 and comes last
    half = np.repeat([0, 1], 30)
    result = core.composition(half, half + 4, np.arange(60.0), n_permutations=999)
    np.testing.assert_array_equal(result.branches, [4, 5])
    np.testing.assert_array_equal(result.share_of_branch, np.eye(2))
    np.testing.assert_array_equal(result.log2_enrichment, [[1, -np.inf], [-np.inf, 1]])
    np.testing.assert_array_equal(result.p_value, np.full((2, 2), 1 / 1000))
    np.testing.assert_allclose(result.shift, [-1, 1])
    np.testing.assert_allclose(result.largest_gap, [1, 1])
    assert result.chi2 == pytest.approx(60)
    assert result.smallest_p_value == 1 / 1000
    assert len(result.progress.first) == 0
    # both groups alike in every way
    twice = core.composition(np.tile([0, 1], 30), np.repeat([0, 1], 30), np.repeat(np.arange(30.0), 2))
    np.testing.assert_allclose(twice.shift, 0, atol=1e-12)
    for p in (twice.p_value, twice.shift_p_value, twice.gap_p_value, twice.chi2_p_value, twice.progress.p_value):
        np.testing.assert_array_equal(p, 1)


def test_bins_hold_equal_numbers_of_cells_and_keep_ties_together():
    group = np.tile([0, 1, 1], 8)
    time = np.arange(24.0)
    lineages = np.column_stack([np.ones(24), np.arange(24) % 2 == 0, np.zeros(24)]).astype(bool)
    result = core.composition(group, np.zeros(24, dtype=int), time, lineages=lineages, n_bins=4, n_permutations=5)
    whole, even, none = result.bins
    np.testing.assert_array_equal(whole.bounds, [0, 5, 11, 17, 23])
    np.testing.assert_array_equal(whole.counts, [[2] * 4, [4] * 4])
    np.testing.assert_allclose(whole.shares, [[1 / 3] * 4, [2 / 3] * 4])
    np.testing.assert_array_equal(even.counts.sum(axis=0), [3, 3, 3, 3])
    assert none is None
    time[:10] = 0
    tied = core.composition(group, np.zeros(24, dtype=int), time, n_bins=4, n_permutations=5).bins[0]
    np.testing.assert_array_equal(tied.bounds, [0, 11, 17, 23])
    np.testing.assert_array_equal(tied.counts.sum(axis=0), [12, 6, 6])
    alike = core.composition(group, np.zeros(24, dtype=int), np.zeros(24), n_permutations=5).bins[0]
    np.testing.assert_array_equal(alike.counts, [[8], [16]])
    few = core.composition(np.array([0, 1]), np.array([0, 0]), np.array([1.0, 2]), n_bins=10, n_permutations=5).bins[0]
    assert few.counts.sum() == 2


@pytest.mark.compiled("takes minutes")
@pytest.mark.parametrize("mode", ["cells", "samples", "cells within samples", "groups within samples"])
def test_p_values_of_random_labels_are_uniform(mode):
    """Samples differ much in place, number and (within) groups; labels say nothing beyond."""
    p = {name: [] for name in ("branch", "chi2", "shift", "gap", "progress")}
    naive = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        sample = np.repeat(np.arange(10), rng.integers(2, 10, 10))
        n = len(sample)
        center = rng.random(10)[sample]
        if mode == "groups within samples":  # each library lies elsewhere
            group = rng.integers(0, 2, n)
            group[np.searchsorted(sample, np.arange(10))] = 1
            center = rng.random((10, 2))[sample, group]
        time = center + 0.2 * rng.random(n)
        branch = (rng.random(n) < center).astype(int)
        branch[:2] = [0, 1]
        if mode == "samples":
            group = rng.permutation(np.arange(10) % 2)[sample]
        elif mode == "cells":
            group, sample = rng.integers(0, 2, n), None
        elif mode == "cells within samples":  # groups follow the samples, and nothing within them
            group = (rng.random(n) < center).astype(int)
        group[0] = 0 if mode != "samples" else group[0]
        result = core.composition(group, branch, time, sample=sample, n_permutations=99, rng=seed, **within(mode))
        assert result.permuted == mode
        p["branch"].append(result.p_value[0, 0])
        p["chi2"].append(result.chi2_p_value)
        p["shift"].append(result.shift_p_value[0])
        p["gap"].append(result.gap_p_value[0])
        p["progress"].extend(result.progress.p_value[:1])
        if sample is not None:
            by_cells = dict(sample=sample, within_samples="cells") if mode == "groups within samples" else {}
            found = core.composition(group, branch, time, n_permutations=99, rng=seed, **by_cells)
            naive.append(found.shift_p_value[0])
    for name, values in p.items():
        values = np.array(values)
        assert len(values) > 250
        for level in (0.05, 0.1, 0.2, 0.5):  # never too small: 4 standard deviations of a binomial
            room = 4 * np.sqrt(level * (1 - level) / len(values))
            share = (values <= level).mean()
            assert share <= level + room, (name, level)
            if name in ("shift", "gap"):  # and, being nearly continuous, not too large either
                assert share >= level - room, (name, level)
    if naive:  # cells taken for independent would have misled
        assert (np.array(naive) <= 0.05).mean() > 0.2


def test_the_order_of_the_cells_does_not_matter():
    rng = np.random.default_rng(0)
    n = 120
    branch, time = rng.integers(-1, 3, n), np.round(rng.random(n), 2)
    many, sample, by_cells = rng.integers(-1, 3, n), rng.integers(0, 6, n), {"within_samples": "cells"}
    time[rng.integers(0, n, 5)] = np.nan
    lineages = rng.random((n, 2)) < 0.7
    order = rng.permutation(n)
    for group, samples, of in (
        (many, None, {}),
        (many, sample, {}),
        (many, sample, by_cells),
        (sample % 2, sample, {}),
    ):
        one = core.composition(group, branch, time, sample=samples, lineages=lineages, n_permutations=50, **of)
        two = core.composition(
            group[order],
            branch[order],
            time[order],
            sample=None if samples is None else samples[order],
            lineages=lineages[order],
            n_permutations=50,
            **of,
        )
        np.testing.assert_array_equal(one.used[order], two.used)
        for name in ("counts", "share_of_group", "p_value", "shift", "shift_p_value", "largest_gap", "gap_p_value"):
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
        for name in ("difference", "p_value", "q_value"):
            np.testing.assert_array_equal(getattr(one.progress, name), getattr(two.progress, name))
        for a, b in zip(one.bins, two.bins, strict=True):
            np.testing.assert_array_equal(a.shares, b.shares)
        again = core.composition(group, branch, time, sample=samples, n_permutations=50, rng=1, **of)
        assert (again.shift_p_value != one.shift_p_value).any()


def test_few_samples_cannot_give_small_p_values():
    sample = np.repeat(np.arange(4), 50)
    group = sample // 2
    result = core.composition(group, group, np.arange(200.0), sample=sample, n_permutations=2000)
    assert result.n_distinct == 6
    assert result.smallest_p_value == pytest.approx(2 / 6)
    # nothing could be farther apart
    for p in (result.p_value, result.shift_p_value, result.gap_p_value, result.chi2_p_value):
        np.testing.assert_allclose(p, 1 / 3, atol=0.05)
    assert core.composition(group, group, np.arange(200.0), n_permutations=2000).shift_p_value[0] == 1 / 2001


@pytest.mark.parametrize("sizes", [(3, 3, 3), (2, 2, 2), (4, 2, 1)])
def test_how_the_rest_is_divided_does_not_make_p_values_smaller(sizes):
    """The samples of a group can be chosen in so many ways, whatever groups the others are of."""
    group = np.repeat(np.arange(3), sizes)
    sample, group = np.repeat(np.arange(len(group)), 20), np.repeat(group, 20)
    ways = np.array([math.comb(sum(sizes), size) for size in sizes])
    least = 1 / ways
    result = core.composition(group, group, np.arange(len(group) + 0.0), sample=sample, n_permutations=5000)
    assert result.smallest_p_value == pytest.approx(least.min())
    # each group is on a branch of its own
    own = result.p_value[range(3), range(3)]
    assert (own >= least).all()
    np.testing.assert_allclose(own, least, rtol=0.3)
    assert (result.gap_p_value >= least).all()


def test_cells_without_something_are_left_out():
    group, branch = np.array([0, 1, -1, 0, 1, 0]), np.array([0, 1, 1, -1, 0, 0])
    time, sample = np.array([0.0, 1, 2, 3, np.nan, 5]), np.array([0, 0, 0, 0, 0, -1])
    result = core.composition(group, branch, time, n_permutations=9)
    np.testing.assert_array_equal(result.used, [True, True, False, False, False, True])
    np.testing.assert_array_equal(
        core.composition(group, branch, time, sample=sample, n_permutations=9).used, [True, True] + [False] * 4
    )


def test_callback_counts_permutations():
    seen = []
    rng = np.random.default_rng(0)
    group, branch = rng.integers(0, 2, 50), np.repeat([0, 1], 25)
    core.composition(
        group, branch, rng.random(50), n_permutations=30, callback=lambda done, total: seen.append((done, total))
    )
    done, total = np.transpose(seen)  # of the groups, then of the pair on each of two branches
    assert (total == 90).all()
    assert (np.diff(done) > 0).all()
    assert done[-1] == 90
    assert {30, 60} <= set(done)


@pytest.mark.parametrize(
    ("changed", "kind", "message"),
    [
        ({"n_bins": 0}, ValueError, r"n_bins=0 is out of range; wanted a whole number from 1 up"),
        ({"n_permutations": 2.5}, TypeError, r"n_permutations=2.5 is a float"),
        (
            {"groups": np.zeros(6, dtype=int)},
            ValueError,
            "all 6 cells that can be used are of one group; wanted at least",
        ),
        (
            {"groups": np.array(["a"] * 6)},
            TypeError,
            r"groups is of type <U1; wanted codes",
        ),
        ({"groups": np.zeros((6, 1), dtype=int)}, ValueError, r"groups is of shape \(6, 1\)"),
        ({"branch": np.zeros(5, dtype=int)}, ValueError, r"branch is of shape \(5,\); wanted 6 codes of cells"),
        ({"sample": np.zeros(5, dtype=int)}, ValueError, r"sample is of shape \(5,\); wanted 6 codes of cells"),
        ({"lineages": np.ones((5, 1))}, ValueError, r"lineages is of shape \(5, 1\); wanted 6 cells by lineages"),
        ({"pseudotime": np.full(6, np.nan)}, ValueError, "none of 6 cells has group, branch, sample and pseudotime"),
    ],
)
def test_errors(changed, kind, message):
    given = {"groups": np.array([0, 1] * 3), "branch": np.zeros(6, dtype=int), "pseudotime": np.arange(6.0)} | changed
    with pytest.raises(kind, match=message):
        core.composition(**given)


@pytest.mark.parametrize("seed", range(4))
def test_no_p_value_is_below_the_smallest_there_is(seed):
    """Of twenty ways chance draws the two that are as far more or less often than one in ten times."""
    rng = np.random.default_rng(seed)
    sample = np.repeat(np.arange(6), 20)
    groups = (sample >= 3).astype(int)
    branch = (rng.random(120) < np.where(groups, 0.9, 0.1)).astype(int)
    result = core.composition(groups, branch, groups + rng.random(120), sample=sample, n_permutations=200, rng=seed)
    assert (result.n_distinct, result.smallest_p_value) == (20, 0.1)
    found = [result.p_value, result.chi2_p_value, result.shift_p_value, result.gap_p_value, result.progress.p_value]
    found = np.concatenate([np.ravel(values) for values in found])
    assert found.min() >= 0.1
    assert (found < 0.15).all()
