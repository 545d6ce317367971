"""How well and how fast new cells are put on a tree: held-out cells of simulated data, beside those that were fitted.

    python benchmarks/ingest.py --cells 3000 --noise 0.15
    python benchmarks/ingest.py --cells 100000 --seeds 1

Three arms that meet, in a random plane of many dimensions, with noise. Half of the cells are fitted, the other half put
on their tree. Printed for both halves: the rank correlation of pseudotime with the truth, the share of cells on the
branch that holds most of their arm, of new ones the share that is called far; and the seconds of either step.
"""

from __future__ import annotations

import argparse
import time
import warnings

import anndata as ad
import numpy as np
import pandas as pd
from scipy.stats import spearmanr

import skeltraj as st


def simulated(n: int, n_features: int, noise: float, seed: int) -> ad.AnnData:
    """Cells on three arms; `truth` is the way from the end of the first."""
    rng = np.random.default_rng(seed)
    arm, place = rng.integers(0, 3, n), rng.random(n)
    plane = np.linalg.qr(rng.standard_normal((n_features, 2)))[0]
    angle, length = 2 * np.pi * arm / 3, np.array([1.0, 0.8, 0.6])[arm]
    flat = (place * length)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    X = (flat @ plane.T + noise * rng.standard_normal((n, n_features))).astype(np.float32)
    truth = np.where(arm == 0, 1.0 - place, 1.0 + place * length)
    obs = pd.DataFrame({"arm": pd.Categorical(arm), "truth": truth}, index=[f"cell{i}" for i in range(n)])
    return ad.AnnData(X, obs=obs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=3000, help="cells in each half")
    parser.add_argument("--features", type=int, default=30)
    parser.add_argument("--noise", type=float, default=0.15)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    print("seed  half    correlation  on its branch     far  seconds")
    for seed in range(given.seeds):
        cells = simulated(2 * given.cells, given.features, given.noise, seed)
        fitted, new = cells[: given.cells].copy(), cells[given.cells :].copy()
        took = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            began = time.perf_counter()
            st.tl.ddrtree(fitted)
            took["fitted"] = time.perf_counter() - began
            st.tl.order(fitted, root=str(fitted.obs["truth"].idxmin()))
            began = time.perf_counter()
            st.tl.ingest(new, fitted)
            took["new"] = time.perf_counter() - began
        far = {"fitted": "", "new": f"{new.obs['ddrtree_far'].mean():.4f}"}
        main_branch = pd.crosstab(fitted.obs["arm"], fitted.obs["ddrtree_branch"]).idxmax(axis=1)
        for half, cells in (("fitted", fitted), ("new", new)):
            right = spearmanr(cells.obs["truth"], cells.obs["ddrtree_pseudotime"]).statistic
            there = cells.obs["ddrtree_branch"].astype(str).to_numpy() == main_branch[cells.obs["arm"]].to_numpy()
            print(f"{seed:<5} {half:<7} {right:>11.4f} {there.mean():>14.3f} {far[half]:>7} {took[half]:>8.1f}")


if __name__ == "__main__":
    main()
