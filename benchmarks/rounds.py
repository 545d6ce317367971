"""Rounds and seconds to come within 0.1 % of the final objective: plain, extrapolated, and from other starts.

    python benchmarks/rounds.py [--n 5000] [--repeats 3]

Trees with 3 to 9 arms of unequal length in 20 features, in 2 to 10 components. For each, the published iteration from
the default start (k-means on a sample of the principal components), the same with ``extrapolate=True``, and the
published iteration from as many rows drawn at random. The target is the last value of the plain fit after 300 rounds. A
try of the extrapolation that fails costs a second pass, so passes are given beside rounds.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import pandas as pd

from skeltraj import core


def tree(n, arms, n_features=20, noise=0.15, seed=0):
    """Points on arms that meet in the middle, in as many dimensions as there are arms."""
    rng = np.random.default_rng(seed)
    arm = rng.integers(0, arms, n)
    length = np.linspace(0.5, 1.0, arms)
    directions = np.linalg.qr(rng.standard_normal((n_features, arms)))[0].T
    place = rng.random(n) * length[arm]
    return place[:, None] * directions[arm] + noise / np.sqrt(3) * rng.standard_normal((n, n_features))


def course(X, **options):
    """Objective and seconds at the start and after every round."""
    began, seconds = time.perf_counter(), []
    fit = core.ddrtree(X, callback=lambda i, f: seconds.append(time.perf_counter() - began), **options)
    return fit, np.array(seconds) - seconds[0]


def reach(fit, seconds, target):
    """Rounds and seconds until the objective is within 0.1 % of the target; None if never."""
    there = np.flatnonzero(fit.objective <= target + 1e-3 * abs(target))
    return (int(there[0]), float(seconds[there[0]])) if len(there) else (None, None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=3, help="the shortest time counts")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    core.ddrtree(tree(300, 3), 2, max_iter=2)  # compiled
    rows = []
    for arms, d, gamma in [(3, 2, 1.0), (3, 2, 10.0), (5, 5, 1.0), (7, 5, 1.0), (9, 10, 1.0), (9, 10, 10.0)]:
        X = tree(given.n, arms)
        centred = X - X.mean(axis=0)
        Z = centred @ np.linalg.svd(centred, full_matrices=False)[2][:d].T
        final = core.ddrtree(X, d, gamma=gamma, tol=0, max_iter=300)
        n_nodes = len(final.nodes)
        some = Z[np.random.default_rng(0).choice(len(Z), n_nodes, replace=False)]
        ways = {
            "plain": dict(),
            "extrapolated": dict(extrapolate=True),
            "from random rows": dict(init=(Z, some), sigma=final.params["sigma"]),
        }
        row = {"arms": arms, "components": d, "gamma": gamma, "nodes": n_nodes}
        for name, options in ways.items():
            runs = [
                course(X, n_components=d, gamma=gamma, tol=1e-5, max_iter=300, **options) for _ in range(given.repeats)
            ]
            reached = [reach(fit, seconds, final.objective[-1]) for fit, seconds in runs]
            row[f"{name}: rounds"] = reached[0][0]
            row[f"{name}: s"] = None if reached[0][1] is None else round(min(s for _, s in reached), 3)
            row[f"{name}: rounds to tol 1e-5"] = runs[0][0].n_iter
            row[f"{name}: last / plain's last"] = round(runs[0][0].objective[-1] / final.objective[-1], 5)
        rows.append(row)
        print(pd.DataFrame([row]).T.to_string(header=False), end="\n\n", flush=True)
    print(pd.DataFrame(rows).T.to_string(header=False))


if __name__ == "__main__":
    main()
