"""MPME and SPL against the papers' own solvers: the same problem, seconds to the same value.

    python benchmarks/similarity.py [--sizes 100 300 1000] [--large 10000] [--tcga FILE] [--metabric FILE]

MPME: the package's solver, to a proved gap of 1e-6 for each row, against L-BFGS-B over all pairs ("lbfgs-all-pairs",
the paper's Algorithm 1), both with the same LAPACK on one thread: seconds until the value is within 1e-6 of the best
that either found, and seconds until each stops by itself. SPL: quasi-Newton steps against the paper's subgradient steps
of length 1/t. Data: points on a fork with noise in ten dimensions, and simulated shapes. The cohorts, z-scored, three
components, C = inf, once with lam = "auto" and once with the paper's lam = 1.2 after division by the root of the number
of genes (undivided, 1.2 joins hardly any two tumours).
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

import skeltraj as st
from skeltraj import core

_CLOSE = 1e-6


def fork(n: int, n_features: int = 10, noise: float = 0.08, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    arm, place = rng.integers(0, 3, n), rng.random(n)
    plane = np.linalg.qr(rng.standard_normal((n_features, 2)))[0]
    flat = (place * np.array([1.0, 0.8, 0.6])[arm])[:, None] * np.column_stack(
        [np.cos(2 * np.pi * arm / 3), np.sin(2 * np.pi * arm / 3)]
    )
    return flat @ plane.T + noise * rng.standard_normal((n, n_features))


def timed(run) -> tuple[core.SimilarityFit, float]:
    began = time.perf_counter()
    fit = run()
    return fit, time.perf_counter() - began


def course(X: np.ndarray, **options) -> tuple[core.SimilarityFit, np.ndarray, float]:
    """A fit, the seconds at which each of its steps was accepted, and those in all."""
    began, stamps = time.perf_counter(), []
    fit = core.mpme(X, 2, lam=1.0, callback=lambda step, value: stamps.append(time.perf_counter() - began), **options)
    return fit, np.array(stamps), time.perf_counter() - began


def mpme_against_all_pairs(sizes: list[int], repeats: int = 3) -> None:
    print("\nMPME: seconds\n")
    columns = ["n", "C", "value", "edges per row", "ours: within 1e-6", "proved, embedded"]
    print(f"| {' | '.join([*columns, 'all pairs: within 1e-6', 'stopped', 'ratios'])} |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    course(fork(60)), course(fork(600))  # compile
    for n in sizes:
        X = fork(n)
        for C in (np.inf, 1.0):
            runs = [course(X, C=C) for _ in range(repeats)]
            fit = runs[0][0]
            # it stops where no derivative leads on by more than 1e-5, in units of the median price
            paper, stamps, whole = course(X, C=C, solver="lbfgs-all-pairs", tol=1e-5)
            best = max(fit.value, paper.value)
            within = lambda fit, seconds, best=best: seconds[np.argmax(fit.objective >= best - _CLOSE * abs(best))]
            ours, proved = np.median([within(f, s) for f, s, _ in runs]), np.median([w for _, _, w in runs])
            theirs = within(paper, stamps)
            assert abs(paper.value - fit.value) <= _CLOSE * abs(best)
            print(
                f"| {n} | {C:g} | {fit.value:.6g} | {len(fit.edges) / n:.1f} | {ours:.3f} | {proved:.3f} | "
                f"{theirs:.2f} | {whole:.2f} | {theirs / ours:.0f}, {whole / proved:.0f} |",
                flush=True,
            )


def spl_against_subgradients() -> None:
    print("\nSPL: value and seconds\n")
    columns = ["data", "gamma", "C", "ours", "gap proved", "steps", "seconds"]
    print(f"| {' | '.join([*columns, 'subgradient: 200 steps', 'seconds', '2,000 steps', 'seconds'])} |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name in ("distorted_s", "two_moons", "helix", "zigzag"):
        X = getattr(st.datasets, name)().X
        for gamma, C in ((0.0, 1e3), (1e-3, 1e3), (1e-3, np.inf), (1.0, 1e3), (1.0, 1.0)):
            fit, ours = timed(lambda X=X, g=gamma, C=C: core.spl(X, 2, gamma=g, C=C))
            row = f"| {name} | {gamma:g} | {C:g} | {fit.value:.6g} | {fit.certificate.duality_gap:.0e} | "
            row += f"{fit.n_iter} | {ours:.2f} |"
            for steps in (200, 2000):
                paper, seconds = timed(
                    lambda X=X, g=gamma, C=C, m=steps: core.spl(X, 2, gamma=g, C=C, solver="subgradient", max_iter=m)
                )
                row += f" {paper.value:.6g} | {seconds:.2f} |"
            print(row, flush=True)


def cohorts(tcga: str | None, metabric: str | None) -> None:
    print("\nCohorts: d = 3, C = inf\n")
    print("| cohort | n | lam | edges per row | parts | value | gap / value | steps | seconds |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name, path in (("tcga", tcga), ("metabric", metabric)):
        if path is None:
            continue
        X = np.asarray(getattr(st.datasets, "tcga_brca" if name == "tcga" else "metabric")(path).X, dtype=np.float64)
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        for rows, lam in ((Z, "auto"), (Z / np.sqrt(Z.shape[1]), 1.2)):
            fit, seconds = timed(lambda rows=rows, lam=lam: core.mpme(rows, 3, lam=lam))
            print(
                f"| {name} | {len(Z)} | {fit.params['lam']:.3g} | {len(fit.edges) / len(Z):.1f} | "
                f"{fit.graph.component.max() + 1} | {fit.value:.5g} | "
                f"{fit.certificate.duality_gap / abs(fit.value):.0e} | {fit.n_iter} | {seconds:.0f} |",
                flush=True,
            )


def large(n: int) -> None:
    print(f"\nn = {n:,}, ten noisy dimensions, d = 2\n")
    X = fork(n)
    for name, run in (("SPL, 10 neighbours", lambda: core.spl(X, 2)), ("MPME", lambda: core.mpme(X, 2))):
        fit, seconds = timed(run)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{name}: {seconds:.0f} s, peak of the process so far {peak:.0f} MB, {fit}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[100, 300, 1000])
    parser.add_argument("--large", type=int)
    parser.add_argument("--tcga")
    parser.add_argument("--metabric")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # shapes in several parts
    with threadpool_limits(limits=1, user_api="blas"):
        mpme_against_all_pairs(chosen.sizes)
        spl_against_subgradients()
        cohorts(chosen.tcga, chosen.metabric)
        if chosen.large:
            large(chosen.large)
