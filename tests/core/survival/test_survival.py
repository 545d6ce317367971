"""Time to event along a skeleton: as R has it, laws, edges, and the words of each error."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from statsmodels.duration.hazard_regression import PHReg

from skeltraj import core

# 24 samples with tied times, and what R's survival 3.5-3 says of them (coxph, cox.zph, survdiff, survfit)
TIME = np.array([2, 4, 5, 1, 3, 4, 1, 1, 4, 10, 11, 1, 9, 5, 5, 1, 7, 4, 1, 1, 8, 8, 3, 5])
EVENT = np.array([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 0, 1])
PLACE = np.array(
    [2.5, 3.6, 3.1, 0.9, 1.2, 3.5, 0, 3.3, 3.2, 1.9, 1.2, 1.1, 1, 1.8, 2, 2.2, 4, 3.2, 2.5, 4, 0.9, 0.6, 2.5, 0.2]
)
BRANCH = np.array([1, 0, 0, 1, 2, 1, 2, 2, 2, 1, 1, 1, 0, 1, 1, 0, 2, 0, 0, 0, 2, 2, 2, 0])
AGE = np.array([68, 54, 59, 40, 64, 73, 66, 46, 61, 50, 78, 75, 47, 60, 77, 73, 68, 65, 41, 69, 58, 43, 49, 61])


def few(*args, **options):
    with pytest.warns(UserWarning, match="20 events for the 3 coefficients of the model of branches: with fewer than"):
        return core.survival(*args, covariates=AGE[:, None], covariate_names=["age"], **options)


def cohort(seed=0, n=200, n_branches=4):
    rng = np.random.default_rng(seed)
    place, branch, Z = rng.random(n), rng.integers(0, n_branches, n), rng.standard_normal((n, 2))
    time = rng.exponential(np.exp(-1.5 * place - 0.5 * Z[:, 0] - 0.7 * (branch == 1)))
    observed = rng.exponential(1.0, n)
    return np.minimum(time, observed), time <= observed, place, branch, Z


def test_as_in_r():
    found = few(TIME, EVENT, PLACE, BRANCH)
    along, between = found.pseudotime, found.branch
    assert along.names == ["pseudotime", "age"]
    np.testing.assert_allclose(along.log_hazard_ratio, [0.374594830734, -0.003271109062], rtol=1e-7)
    np.testing.assert_allclose(along.standard_error, [0.25916154357, 0.02091058937], rtol=1e-7)
    np.testing.assert_allclose(along.z, [1.4454105558, -0.1564331355], rtol=1e-7)
    np.testing.assert_allclose(along.p_value, [0.1483426002, 0.8756916203], rtol=1e-6)
    np.testing.assert_allclose([along.log_likelihood, along.log_likelihood_covariates], [-45.18415472, -46.23062741])
    np.testing.assert_allclose(along.concordance, 0.58823529412)
    np.testing.assert_allclose(along.proportional_chi2, [0.4256017640, 0.3236489395], rtol=1e-5)
    np.testing.assert_allclose(along.proportional_p_value, [0.5141550253, 0.5694229738], rtol=1e-5)
    np.testing.assert_allclose(along.proportional.chi2, 0.4256017640, rtol=1e-5)
    np.testing.assert_allclose(along.proportional_all.chi2, 0.7953119339, rtol=1e-5)
    assert (found.reference, between.names) == (0, ["B2", "B3", "age"])
    np.testing.assert_allclose(between.log_hazard_ratio, [-0.83813624620, -0.11274022670, 0.01773485724], rtol=1e-6)
    np.testing.assert_allclose(between.standard_error, [0.67106464833, 0.54771687740, 0.02344830339], rtol=1e-6)
    assert between.log_likelihood == pytest.approx(-45.30032305)
    assert between.likelihood_ratio.chi2 == pytest.approx(2 * (46.23062741 - 45.30032305))
    assert between.likelihood_ratio.df == 2
    np.testing.assert_allclose(between.proportional_chi2, [0.9806642837, 0.4179483869, 0.5429407210], rtol=1e-5)
    assert between.proportional.chi2 == pytest.approx(1.038083630, rel=1e-5)
    assert between.proportional.p_value == pytest.approx(0.5950904817, rel=1e-5)
    assert between.proportional_all.chi2 == pytest.approx(1.143973448, rel=1e-5)
    assert found.log_rank.chi2 == pytest.approx(1.334431672)
    assert [(b.n, b.n_events, b.median, b.median_low) for b in found.branches] == [
        (8, 7, 4, 1),
        (8, 6, 5, 1),
        (8, 7, 4, 1),
    ]
    assert [b.median_high for b in found.branches] == [5, 10, np.inf]
    assert found.horizon == 7
    seven = [b.curve.restricted_mean(7) for b in found.branches]
    np.testing.assert_allclose(seven, [[4, 0.7141428429], [4.5, 0.7756046029], [4.53125, 0.9065866831]])
    for b, (mean, error) in zip(found.branches, seven, strict=True):
        assert b.restricted_mean == mean
        assert b.restricted_mean_low == pytest.approx(mean - 1.959964 * error, rel=1e-6)


def test_pseudotime_counts_by_its_standard_deviation():
    time, event, place, branch, Z = cohort()
    found = core.survival(time, event, place, branch, covariates=Z)
    scaled = core.survival(12 * time, event, 40 * place - 3, branch, covariates=0.1 * Z)
    assert found.pseudotime_sd == pytest.approx(place.std(ddof=1))
    assert scaled.pseudotime_sd == pytest.approx(40 * found.pseudotime_sd)
    wanted = found.pseudotime.log_hazard_ratio * [1, 10, 10]
    np.testing.assert_allclose(scaled.pseudotime.log_hazard_ratio, wanted, rtol=1e-6)
    np.testing.assert_allclose(scaled.pseudotime.z, found.pseudotime.z, rtol=1e-6)
    assert scaled.linearity.chi2 == pytest.approx(found.linearity.chi2, rel=1e-5)
    assert scaled.horizon == pytest.approx(12 * found.horizon)
    turned = core.survival(time, event, -place, branch, covariates=Z)
    assert turned.pseudotime.log_hazard_ratio[0] == pytest.approx(-found.pseudotime.log_hazard_ratio[0])
    assert found.pseudotime.log_hazard_ratio[0] > 0.2
    np.testing.assert_allclose(
        np.exp(found.pseudotime.low) * np.exp(found.pseudotime.high), np.exp(2 * found.pseudotime.log_hazard_ratio)
    )


def test_any_order_of_samples_gives_the_same():
    time, event, place, branch, Z = cohort(1)
    one = core.survival(np.ceil(5 * time), event, place, branch, covariates=Z)
    at = np.random.default_rng(0).permutation(200)
    two = core.survival(np.ceil(5 * time[at]), event[at], place[at], branch[at], covariates=Z[at])
    for name in ("pseudotime", "branch"):
        a, b = getattr(one, name), getattr(two, name)
        for of in ("log_hazard_ratio", "standard_error", "proportional_chi2", "concordance"):
            np.testing.assert_array_equal(getattr(a, of), getattr(b, of))  # to the last bit
    assert (one.log_rank.chi2, one.linearity.chi2) == (two.log_rank.chi2, two.linearity.chi2)
    np.testing.assert_array_equal(one.bounds, two.bounds)


def test_another_reference_turns_the_ratios_and_leaves_the_test():
    time, event, place, branch, _ = cohort(2)
    found = core.survival(time, event, place, branch, reference=1)
    other = core.survival(time, event, place, branch, reference=3)
    assert found.branch.names == ["B1", "B3", "B4"]
    named = core.survival(time, event, place, branch, reference=1, branch_names=np.array(list("wxyz")))
    assert named.branch.names == ["w", "y", "z"]
    assert other.branch.names == ["B1", "B2", "B3"]
    assert found.branch.log_hazard_ratio[2] == pytest.approx(-other.branch.log_hazard_ratio[1])
    assert found.branch.likelihood_ratio.chi2 == pytest.approx(other.branch.likelihood_ratio.chi2)
    assert found.branch.proportional.chi2 == pytest.approx(other.branch.proportional.chi2)
    largest = np.bincount(branch).argmax()
    assert core.survival(time, event, place, branch).reference == largest


def test_two_branches_are_compared():
    time, event, place, branch, Z = cohort(n_branches=2)
    found = core.survival(time, event, place, branch, covariates=Z)
    other = branch == 1 - found.reference
    wanted = PHReg(time, np.column_stack([other, Z]).astype(float), event, ties="efron").fit()
    np.testing.assert_allclose(found.branch.log_hazard_ratio, wanted.params, rtol=1e-5)
    assert found.log_rank.df == 1


def test_a_curved_effect_is_seen_by_the_test_of_linearity():
    rng = np.random.default_rng(3)
    place = rng.random(500)
    time = rng.exponential(np.exp(-2 * np.sin(np.pi * place)))
    found = core.survival(time, np.ones(500), place, np.zeros(500, dtype=int))
    assert found.linearity.p_value < 1e-4
    assert found.linearity.df == 2
    two = core.survival(time, np.ones(500), np.round(place), np.zeros(500, dtype=int))
    assert two.linearity is None


def test_what_covariates_tell_of_the_curve_is_no_part_of_the_test_of_linearity():
    """Four places, of which three indicators tell any curve; two of them leave the line and one bend."""
    rng = np.random.default_rng(4)
    place = np.repeat(np.arange(5), 40)
    time, event, branch = rng.exponential(size=200), np.ones(200), np.zeros(200, dtype=int)
    of = lambda *those: (place[:, None] == those).astype(float)
    assert core.survival(time, event, place, branch, covariates=of(1, 2, 3)).linearity is None
    some = core.survival(time, event, place, branch, covariates=of(1, 2)).linearity
    assert some.df == 1
    assert 0.01 < some.p_value < 1


def test_what_varies_only_among_those_who_leave_before_the_first_event_is_refused():
    """They are compared with nobody: the information is zero, and a ratio of 1 would be rounding."""
    time, event, place, branch, Z = cohort()
    time, event = time + 0.1, event.copy()
    time[:3], event[:3] = 0.05, False
    rare = np.zeros((200, 1))
    rare[0] = 1
    said = f"for all {(time >= time[event].min()).sum()} samples that are observed until the first event"
    with pytest.raises(ValueError, match=rf"covariates: 'x1' is 0 {said}; wanted one that varies"):
        core.survival(time, event, place, branch, covariates=rare)
    along = np.where(np.arange(200) < 3, place, 2.0)
    with pytest.raises(ValueError, match=rf"pseudotime: 'pseudotime' is 2 {said}"):
        core.survival(time, event, along, branch)
    both = np.column_stack([Z[:, 0], Z[:, 0] + rare[:, 0]])
    with pytest.raises(ValueError, match=rf"covariates: 'x2' follows from \['x1'\] {said}"):
        core.survival(time, event, place, branch, covariates=both)


def test_what_is_not_known_is_left_out():
    time, event, place, branch, Z = cohort(4)
    event, holes = event.astype(float), [np.array(a, dtype=float) for a in (time, event, place)]
    for i, array in enumerate(holes):
        array[10 * i : 10 * i + 10] = np.nan
    Z = Z.copy()
    Z[30:40, 1] = np.nan
    found = core.survival(*holes, branch, covariates=Z)
    np.testing.assert_array_equal(found.used, np.arange(200) >= 40)
    kept = core.survival(time[40:], event[40:], place[40:], branch[40:], covariates=Z[40:])
    np.testing.assert_array_equal(found.pseudotime.log_hazard_ratio, kept.pseudotime.log_hazard_ratio)
    assert found.pseudotime.n == 160
    assert sum(b.n for b in found.branches) == sum(s.n for s in found.stretches) == 160


def test_samples_off_the_branches_have_their_part_along_pseudotime():
    time, event, place, branch, _ = cohort(5)
    some = np.where(branch == 2, -1, branch)
    found, whole = core.survival(time, event, place, some), core.survival(time, event, place, branch)
    assert found.pseudotime.n == 200
    assert found.pseudotime.log_hazard_ratio[0] == whole.pseudotime.log_hazard_ratio[0]
    assert found.branch.n == (branch != 2).sum()
    assert [b.code for b in found.branches] == [0, 1, 3]
    alone = core.survival(time, event, place, np.zeros(200, dtype=int))
    assert (alone.branch, alone.log_rank, alone.reference) == (None, None, None)
    assert alone.branches[0].n == 200
    none = core.survival(time, event, place, np.full(200, -1))
    assert none.branches == []


@pytest.mark.parametrize("value", [0.0, 0.1, 7.0])
def test_covariates_that_are_constant_on_the_branches_compared_are_refused(value):
    time, event, place, branch, Z = cohort(5)
    Z = np.where(branch == 2, Z[:, 0], value)[:, None]  # 0.1 has a mean that rounding moves
    message = f"covariates: 'age' is {value:g} for all {(branch != 2).sum()} samples on the branches compared; wanted"
    with pytest.raises(ValueError, match=message):
        core.survival(time, event, place, np.where(branch == 2, -1, branch), covariates=Z, covariate_names=["age"])


def test_stretches_divide_the_samples_evenly():
    time, event, place, branch, _ = cohort(6)
    found = core.survival(time, event, place, branch, n_stretches=4)
    assert [s.n for s in found.stretches] == [50] * 4
    assert (found.bounds[0], found.bounds[-1]) == (place.min(), place.max())
    one = core.survival(time, event, place, branch, n_stretches=1)
    assert one.log_rank_of_stretches is None
    assert one.stretches[0].n == 200
    tied = core.survival(time, event, np.round(place), branch, n_stretches=4)
    assert sum(s.n for s in tied.stretches) == 200
    short = branch == branch.max()
    cut = np.where(short, np.minimum(time, 0.3), time)
    some = core.survival(cut, event & (cut == time), place, branch, horizon=0.5).branches
    mean = {b.code: (b.restricted_mean, b.restricted_mean_low, b.restricted_mean_high) for b in some}
    assert np.isnan(mean.pop(branch.max())).all()  # nobody of it was observed for so long
    assert np.isfinite(list(mean.values())).all()
    far = core.survival(time, event, place, branch, horizon=0.5)
    assert far.horizon == 0.5
    assert max(b.restricted_mean_high for b in far.branches) <= 0.5


def test_a_group_that_leaves_before_the_first_event_takes_no_degree_of_freedom():
    """As in R's survdiff."""
    time, event, place, _, _ = cohort()
    late = place > np.quantile(place, 2 / 3, method="inverted_cdf")
    time, event, no_branch = np.where(late, 0.0, time + 0.1), event & ~late, np.zeros(200, dtype=int)
    found = core.survival(time, event, place, no_branch).log_rank_of_stretches
    others = core.survival(time[~late], event[~late], place[~late], no_branch[~late], n_stretches=2)
    assert found.df == 1
    assert (found.chi2, found.p_value) == pytest.approx(
        (others.log_rank_of_stretches.chi2, others.log_rank_of_stretches.p_value)
    )
    alone = place > np.quantile(place, 1 / 3, method="inverted_cdf")
    time, event = np.where(alone, 0.0, time + 0.1), event & ~alone
    assert core.survival(time, event, place, no_branch).log_rank_of_stretches is None


@pytest.mark.parametrize(("share", "df"), [(0.3, 1), (0.04, None), (0.6, 2)])
def test_linearity_is_tested_where_samples_are_compared(share, df):
    """With knots of all samples the spline may be straight, or nothing, for those left at the first event."""
    time, _, place, _, _ = cohort(n=400)
    late, no_branch = place > np.quantile(place, share), np.zeros(400, dtype=int)
    time, event = np.where(late, 0.5, time + 1), ~late
    found = core.survival(time, event, place, no_branch)
    if df is None:
        assert found.linearity is None
        return
    assert found.linearity.df == df
    knots = np.quantile(place, [0.05, 0.35][:df])
    cubes = np.maximum(place[:, None] - knots, 0)[~late] ** 3
    of_cubes = core.survival(time[~late], event[~late], place[~late], no_branch[~late], covariates=cubes)
    assert found.linearity.chi2 == pytest.approx(
        2 * (of_cubes.pseudotime.log_likelihood - found.pseudotime.log_likelihood), rel=1e-6
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_covariate_that_is_all_but_pseudotime_is_refused(seed):
    time, event, place, _, _ = cohort()
    same = place + 3e-9 * np.random.default_rng(seed).standard_normal(200)
    with pytest.raises(ValueError, match=r"'x1' follows from \['pseudotime'\]"):
        core.survival(time, event, place, np.zeros(200, dtype=int), covariates=same[:, None])


def test_groups_too_small_for_a_log_rank_test_are_told():
    time, event, place, branch, _ = cohort()
    core.survival(time, event, place, branch, n_stretches=13)  # 15.4 in each of 13, where 14.4 are wanted
    with pytest.warns(UserWarning, match="200 samples in 14 stretches of pseudotime are 14.3 for each: with fewer"):
        core.survival(time, event, place, branch, n_stretches=14)
    with pytest.warns(UserWarning, match="in 199 stretches of pseudotime are 1.01 for each: with fewer than") as caught:
        core.survival(time, event, place, branch, n_stretches=500)
    assert len(caught) == 1
    # of branches nothing more is said where events are few for the model; samples that are not compared do not count
    time, event, place, branch, _ = cohort(n=220, n_branches=1)
    codes = np.where(np.arange(220) < 200, np.arange(220) % 16, -1)
    with pytest.warns(UserWarning, match="200 samples in 16 branches are 12.5 for each: with fewer than 16 for each"):
        core.survival(time, np.ones(220), place, codes)
    with pytest.warns(UserWarning, match="events for the 15 coefficients of the model of branches") as caught:
        core.survival(time, event, place, codes)
    assert len(caught) == 1


def test_a_sample_that_makes_most_of_the_spread_is_told():
    time, event, place, branch, _ = cohort()
    place[7] = 3  # 27 % of the variance
    core.survival(time, event, place, branch)
    place[7] = 10
    with pytest.warns(UserWarning, match="one sample, of pseudotime 10, makes 8[0-9] % of the variance"):
        core.survival(time, event, place, branch)


def test_false_alarms_are_as_rare_as_they_should_be():
    """Two hundred cohorts in which nothing matters; benchmarks/survival_level.py has ten times as many."""
    p = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        time, observed = rng.exponential(size=100), rng.exponential(2, 100)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = core.survival(
                np.minimum(time, observed), time <= observed, rng.random(100), rng.integers(0, 3, 100), n_stretches=1
            )
        tests = (found.pseudotime.likelihood_ratio, found.pseudotime.proportional)
        p.append(
            [t.p_value for t in (*tests, found.branch.likelihood_ratio, found.branch.proportional, found.log_rank)]
        )
    false = (np.array(p) < 0.1).mean(axis=0)
    assert (abs(false - 0.1) < 0.065).all()  # three standard errors


@pytest.mark.parametrize(
    ("changed", "kind", "message"),
    [
        ({"time": -TIME}, ValueError, r"time: 24 of 24 values are negative, the least is -11; wanted times from the"),
        ({"time": TIME * np.inf}, ValueError, "time: 24 values are infinite"),
        ({"time": TIME.astype(str)}, TypeError, "time is of type <U"),
        ({"time": TIME[:, None]}, ValueError, r"time is of shape \(24, 1\); wanted \(n,\)"),
        ({"time": TIME[:5]}, ValueError, "event: 24 values were given for 5 samples"),
        (
            {"event": EVENT + 1},
            ValueError,
            r"event: the values are \[1.0, 2.0\]; wanted 0 .* and 1 .*or False and True",
        ),
        ({"event": np.arange(24)}, ValueError, r"event: the values are \[0.0, .*5.0\] and more"),
        ({"event": 0 * EVENT}, ValueError, "event: none of the 24 samples used has it; wanted some"),
        (
            {"event": np.full(24, np.nan)},
            ValueError,
            "none of the 24 samples has a time, an event, a pseudotime and all",
        ),
        ({"pseudotime": 0 * PLACE + 2}, ValueError, "pseudotime: 'pseudotime' is 2 for all 24 samples used"),
        ({"branch": BRANCH / 2}, TypeError, "branch is of type float64; wanted codes"),
        ({"branch": BRANCH[:, None]}, ValueError, r"branch is of shape \(24, 1\)"),
        ({"covariates": np.c_[AGE, 2 * AGE]}, ValueError, r"'x2' follows from \['x1'\] for all 24 samples used"),
        ({"covariates": PLACE[:, None] + 5}, ValueError, r"'x1' follows from \['pseudotime'\]"),
        ({"covariates": 0 * AGE[:, None]}, ValueError, "covariates: 'x1' is 0 for all 24 samples used"),
        ({"covariates": AGE[:, None] * np.inf}, ValueError, "covariates: 'x1' holds infinite values"),
        (
            {"covariates": np.c_[AGE, np.where(PLACE > 0, AGE, np.inf)]},
            ValueError,
            "covariates: 'x2' holds infinite values",
        ),
        ({"covariates": AGE[:, None], "covariate_names": ["a", "b"]}, ValueError, "2 names were given for 1 columns"),
        (
            {"covariates": np.eye(24)[:, :20]},
            ValueError,
            "20 events for the 21 coefficients of the model of pseudotime",
        ),
        ({"branch_names": ["a"]}, ValueError, "branch_names: 1 names were given for codes up to 2"),
        ({"reference": 7}, ValueError, r"reference=7 is no branch with samples; wanted one of \[0, 1, 2\]"),
        ({"n_stretches": 0}, ValueError, "n_stretches=0 is out of range"),
        ({"horizon": 0}, ValueError, "horizon=0 is out of range; wanted a number > 0"),
        (
            {"branch": np.where(np.isin(np.arange(24), [10, 11, 18]), 3, BRANCH), "branch_names": list("abcd")},
            ValueError,
            r"branches without events: \['d'\], .* those with events are \['a', 'b', 'c'\]",
        ),
    ],
)
def test_errors(changed, kind, message):
    given = dict(time=TIME, event=EVENT, pseudotime=PLACE, branch=BRANCH) | changed
    with pytest.raises(kind, match=message):
        core.survival(**given)


def test_a_group_without_events_has_no_finite_coefficient():
    time, event, place, branch, _ = cohort(7)
    never = np.zeros(200)
    never[np.flatnonzero(~event)[:20]] = 1
    with pytest.raises(ValueError, match="the coefficient of 'x1' runs to infinity: among the samples used, the event"):
        core.survival(time, event, place, branch, covariates=never[:, None])


def test_no_group_is_compared_with_one_without_events():
    """All others together run away from it, though they differ little from one another."""
    time, event, place, branch, _ = cohort(7)
    group = np.arange(200) % 2 + 1
    group[np.flatnonzero(~event)[:20]] = 0
    columns = np.column_stack([group == 1, group == 2]).astype(float)
    with pytest.raises(ValueError, match="'x1' runs to infinity: .* or in the group with which it is compared"):
        core.survival(time, event, place, branch, covariates=columns)


@pytest.mark.filterwarnings("error")
def test_times_in_the_order_of_pseudotime_are_refused():
    place = np.linspace(0, 4, 600)
    with pytest.raises(ValueError, match="the coefficient of 'pseudotime' runs to infinity"):
        core.survival(4.1 - place, np.ones(600, dtype=bool), place, np.zeros(600, dtype=int))


def test_stretches_that_the_log_rank_test_leaves_out_do_not_count_for_its_warning():
    place, event = np.linspace(0, 1, 18), np.arange(18) < 12
    time = np.where(event, 1 + np.arange(18) * 7 % 12, 0.5)  # of the last third nobody is left at the first event
    fit = core.survival(time, event, place, np.zeros(18, dtype=int), n_stretches=3)  # without a warning
    assert fit.log_rank_of_stretches.df == 1
    with pytest.warns(UserWarning, match="18 samples in 3 stretches of pseudotime are 6 for each: with fewer than 7"):
        core.survival(np.where(event, time, 2.5), event, place, np.zeros(18, dtype=int), n_stretches=3)
