"""Rounds, passes and seconds to come within 0.1 % of the final objective: plain, accelerated, and from other starts.

    python benchmarks/rounds.py [--n 5000] [--repeats 3]

Trees with 3 to 9 arms of unequal length in 20 features, in 2 to 10 components. For each, from the default start
(k-means on a sample of the principal components): the published iteration, the same with ``extrapolate=True``, with
SQUAREM (Varadhan and Roland 2008, scheme S3) and with Anderson's acceleration (the differences of the last five
rounds; Walker and Ni 2011); and the published iteration from as many rows drawn at random. The target is the last value
of the plain fit after 300 rounds. SQUAREM and Anderson's steps are taken of the nodes, turned as the loadings turn, and
only where the objective falls; else the published update is. A try that fails costs a second pass over the rows, so
passes are given beside rounds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from skeltraj import core
from skeltraj.core._ddrtree_round.round import Problem, State
from skeltraj.core._methods import ddrtree

PASSES = [0]
N_DIFFERENCES = 5  # of Anderson's acceleration


@dataclass(frozen=True)
class Counted(Problem):
    """The published round, or the one that extrapolates, with passes counted."""

    def measure(self, *given) -> State:
        """One pass."""
        PASSES[0] += 1
        return super().measure(*given)

    def first_of(self, W, tried, update, state) -> State:
        """The state of nodes that were tried if the objective falls, else that of the published update."""
        before = state.kept.copy()
        trial = self.measure(W, tried, state.kept, state.sums.n_weights)
        return trial if trial.objective < state.objective else self.measure(W, update, before, state.sums.n_weights)


@dataclass(frozen=True)
class Squarem(Counted):
    """After every two updates a step along both."""

    nodes: list = field(default_factory=list)  # those of this cycle

    def round(self, state: State) -> State:
        """An update, or the step at the end of a cycle."""
        W, C, turn = self.update(state)
        first, *rest = [nodes @ turn for nodes in (*self.nodes, state.nodes)]
        self.nodes[:] = [first]
        if not rest:
            return self.measure(W, C, state.kept, state.sums.n_weights)
        self.nodes.clear()
        change = rest[0] - first
        bend = C - rest[0] - change
        length = min(-np.linalg.norm(change) / max(np.linalg.norm(bend), 1e-300), -1.0)
        return self.first_of(W, first - 2 * length * change + length**2 * bend, C, state)


@dataclass(frozen=True)
class Anderson(Counted):
    """The update, with the combination of earlier ones that leaves the smallest residual."""

    nodes: list = field(default_factory=list)
    residuals: list = field(default_factory=list)

    def round(self, state: State) -> State:
        """An accelerated update."""
        W, C, turn = self.update(state)
        for kept, new in ((self.nodes, state.nodes @ turn), (self.residuals, C - state.nodes @ turn)):
            kept[:] = [*(one @ turn for one in kept), new][-N_DIFFERENCES - 1 :]
        if len(self.nodes) == 1:
            return self.measure(W, C, state.kept, state.sums.n_weights)
        by_nodes, by_residuals = (
            np.diff(np.array(kept).reshape(len(kept), -1), axis=0) for kept in (self.nodes, self.residuals)
        )
        products = by_residuals @ by_residuals.T
        products[np.diag_indices_from(products)] += 1e-8 * np.trace(products)
        weights = np.linalg.solve(products, by_residuals @ self.residuals[-1].ravel())
        new = self.first_of(W, C - (weights @ (by_nodes + by_residuals)).reshape(C.shape), C, state)
        if new.nodes is C:  # the step failed
            self.nodes.clear()
            self.residuals.clear()
        return new


def tree(n, arms, n_features=20, noise=0.15, seed=0):
    """Points on arms that meet in the middle, in as many dimensions as there are arms."""
    rng = np.random.default_rng(seed)
    arm = rng.integers(0, arms, n)
    length = np.linspace(0.5, 1.0, arms)
    directions = np.linalg.qr(rng.standard_normal((n_features, arms)))[0].T
    place = rng.random(n) * length[arm]
    return place[:, None] * directions[arm] + noise / np.sqrt(3) * rng.standard_normal((n, n_features))


def course(X, problem=Counted, **options):
    """The fit, and seconds and passes until the start and after every round."""
    began, seconds, passes, PASSES[0] = time.perf_counter(), [], [], 0
    ddrtree.Problem = problem

    def note(round, objective):
        seconds.append(time.perf_counter() - began)
        passes.append(PASSES[0])

    fit = core.ddrtree(X, callback=note, **options)
    return fit, np.array(seconds) - seconds[0], np.array(passes)


def reach(fit, seconds, passes, target):
    """Rounds, passes and seconds until the objective is within 0.1 % of the target; None if never."""
    there = np.flatnonzero(fit.objective <= target + 1e-3 * abs(target))
    return (int(there[0]), int(passes[there[0]]), float(seconds[there[0]])) if len(there) else (None, None, None)


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
            "SQUAREM": dict(problem=Squarem),
            "Anderson": dict(problem=Anderson),
            "from random rows": dict(init=(Z, some), sigma=final.params["sigma"]),
        }
        row = {"arms": arms, "components": d, "gamma": gamma, "nodes": n_nodes}
        for name, options in ways.items():
            runs = [
                course(X, n_components=d, gamma=gamma, tol=1e-5, max_iter=300, **options) for _ in range(given.repeats)
            ]
            reached = [reach(*run, final.objective[-1]) for run in runs]
            row[f"{name}: rounds"], row[f"{name}: passes"], _ = reached[0]
            row[f"{name}: s"] = None if reached[0][2] is None else round(min(s for *_, s in reached), 3)
            row[f"{name}: rounds to tol 1e-5"] = runs[0][0].n_iter
            row[f"{name}: passes to tol 1e-5"] = int(runs[0][2][-1])
            row[f"{name}: last / plain's last"] = round(runs[0][0].objective[-1] / final.objective[-1], 5)
        rows.append(row)
        print(pd.DataFrame([row]).T.to_string(header=False), end="\n\n", flush=True)
    print(pd.DataFrame(rows).T.to_string(header=False))


if __name__ == "__main__":
    main()
