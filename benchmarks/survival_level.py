"""How often the tests of `core.survival` cry wolf: cohorts in which neither pseudotime nor branch matters.

    python benchmarks/survival_level.py [--cohorts 2000] [--samples 400] [--branches 6] [--first 0]

Each cohort has exponential times with a mean of 5 years, follow-up that ends between 2 and 10 years, and one
covariate that doubles the hazard per standard deviation. Pseudotime is uniform and the branches have unequal sizes
(shares 2 to 1, from the largest to the smallest); neither has to do with time or the covariate. Three kinds: times as
they are; times in whole years, so that almost all are tied; and follow-up that depends on the branch (it ends earlier
on the later ones), which is no reason to reject anything either. Printed for each test, as the share of cohorts with
p below .05, .01 and .001, and the p-value of Kolmogorov and Smirnov's test that p is uniform. Beside these the share
of intervals for the hazard ratio of pseudotime that hold 1.
"""

from __future__ import annotations

import argparse
import time as clock

import numpy as np
import pandas as pd
from scipy.stats import kstest

from skeltraj import core

KINDS = ("plain", "tied", "uneven follow-up")


def simulate(kind, n, n_branches, seed):
    """Times, events, pseudotime, branches and a covariate of a cohort."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    share = np.linspace(2, 1, n_branches)
    branch = rng.choice(n_branches, n, p=share / share.sum())
    pseudotime, covariate = rng.random(n), rng.standard_normal(n)
    lasting = 5 * rng.exponential(size=n) / 2**covariate
    observed = rng.uniform(2, 10, n)
    if kind == "uneven follow-up":
        observed *= np.linspace(1, 0.4, n_branches)[branch]
    time, event = np.minimum(lasting, observed), lasting <= observed
    return np.ceil(time) if kind == "tied" else time, event, pseudotime, branch, covariate


def p_values(kind, n, n_branches, seed):
    """The p-value of each test of a cohort, and whether the interval for pseudotime holds 1."""
    time, event, pseudotime, branch, covariate = simulate(kind, n, n_branches, seed)
    found = core.survival(time, event, pseudotime, branch, covariates=covariate[:, None])
    along, between = found.pseudotime, found.branch
    return {
        "pseudotime, likelihood ratio": along.likelihood_ratio.p_value,
        "pseudotime, Wald": along.p_value[0],
        "pseudotime, linearity": found.linearity.p_value,
        "pseudotime, proportional hazards": along.proportional.p_value,
        "branches, likelihood ratio": between.likelihood_ratio.p_value,
        "branches, proportional hazards": between.proportional.p_value,
        "branches, log-rank": found.log_rank.p_value,
        "stretches, log-rank": found.log_rank_of_stretches.p_value,
    }, along.low[0] <= 0 <= along.high[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cohorts", type=int, default=2000)
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--branches", type=int, default=6)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args()
    for kind in KINDS:
        begun = clock.perf_counter()
        seeds = range(given.first, given.first + given.cohorts)
        found = [p_values(kind, given.samples, given.branches, seed) for seed in seeds]
        table = pd.DataFrame([p for p, _ in found])
        rows = {f"p < {level:g}": (table < level).mean() for level in (0.05, 0.01, 0.001)}
        rows["KS"] = table.apply(lambda p: kstest(p, "uniform").pvalue)
        seconds = (clock.perf_counter() - begun) / len(table)
        print(f"\n{kind}: {len(table)} cohorts of {given.samples}, {1000 * seconds:.0f} ms each")
        print(pd.DataFrame(rows).round(4).to_string())
        print(f"intervals that hold the truth: {np.mean([holds for _, holds in found]):.4f}")


if __name__ == "__main__":
    main()
