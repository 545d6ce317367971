"""How the defaults of tl.ddrtree and tl.principal_tree were chosen: one change at a time, on data with known truth.

  python benchmarks/defaults.py --quality FOLDER --out benchmarks/results/defaults.csv [--seeds 20000,40000]
      [--only NAME] [--many | --sizes]

FOLDER is the developers' trajectory benchmark (its `simulate.py` and `metrics.py`), which is not part of the package;
the same numbers can be had from any simulator with known positions. Sets: 6 shapes x 3 levels of noise per seed, as in
that benchmark but with seeds of their own, and around them other shapes (4 arms at one fork, 8 leaves), 300 to 50,000
cells, cells in clumps, doublets. Score: the benchmark's `overall` (geometric mean of cor_dist, F1_branches,
F1_milestones, HIM).
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
from scipy import sparse

import skeltraj as st

LEVELS = ("easy", "medium", "hard")


def sets(simulate, seed: int, *, large: bool) -> dict[str, dict]:
    """Arguments of `simulated` by name."""
    chosen = {}
    for i, shape in enumerate(simulate._TREES):
        for j, level in enumerate(LEVELS):
            chosen[f"{shape}-{level}"] = dict(
                shape=shape, level=level, n=simulate._SIZES[shape], seed=seed + 10 * i + j
            )
    others = [
        ("multifurcation", "medium", dict(n=1500)),
        ("binary_tree_8", "medium", dict(n=3000)),
        ("bifurcation", "medium", dict(n=300)),
        ("binary_tree_4", "easy", dict(n=300)),
        ("linear", "hard", dict(n=300)),
        ("double_bifurcation", "medium", dict(n=5000)),
        *[(shape, level, dict(n=1200, clumps=True)) for shape, level in (
            ("linear", "medium"), ("bifurcation", "medium"), ("double_bifurcation", "easy"),
            ("binary_tree_4", "medium"), ("trifurcation", "hard"),
        )],
        *[(shape, level, dict(n=1200, doublets=0.08)) for shape, level in (
            ("linear", "medium"), ("bifurcation", "medium"), ("binary_tree_4", "easy"),
        )],
    ]  # fmt: skip
    if large:
        others += [("binary_tree_4", "medium", dict(n=20_000)), ("trifurcation", "hard", dict(n=50_000))]
    for k, (shape, level, more) in enumerate(others):
        said = "".join(f" {name}={value}" for name, value in more.items())
        chosen[f"{shape}-{level}{said}"] = dict(shape=shape, level=level, seed=seed + 200 + k, **more)
    return chosen


def many_cells(seed: int) -> dict[str, dict]:
    """The same for 20,000 cells."""
    shapes = ("bifurcation", "binary_tree_4", "binary_tree_6", "linear", "double_bifurcation")
    pairs = [(shape, level) for shape in shapes for level in ("medium", "hard")]
    return {f"{a}-{b}": dict(shape=a, level=b, n=20_000, seed=seed + k) for k, (a, b) in enumerate(pairs)}


def by_size(simulate, seed: int) -> dict[str, dict]:
    """Each shape and level with 250, 700 and 2,000 cells."""
    chosen = {}
    for k, n in enumerate((250, 700, 2000)):
        for i, shape in enumerate(simulate._TREES):
            for j, level in enumerate(LEVELS):
                own = seed + 100 * k + 10 * i + j
                chosen[f"{shape}-{level} n={n}"] = dict(shape=shape, level=level, n=n, seed=own)
    return chosen


def simulated(simulate, trajectory, shape, level, n, seed, clumps=False, doublets=0.0):
    """Cells with 30 principal components, and where they truly lie."""
    drawn = simulate.simulate(
        shape,
        n_cells=2 * n if clumps else n,
        n_genes=1500 if level == "easy" else 1000,
        difficulty=level,
        seed=seed,
        preprocess=False,
    )
    rng = np.random.default_rng(seed + 7)
    truth = drawn.uns["truth"]
    edge, fraction = truth["edge"], truth["fraction"]
    keep = np.arange(drawn.n_obs)
    if clumps:
        weight = np.full(drawn.n_obs, 0.15)
        for i in range(len(truth["from"])):
            for centre in rng.random(rng.integers(1, 4)):
                weight += (edge == i) * np.exp(-((fraction - centre) ** 2) / (2 * 0.07**2))
        keep = np.sort(rng.choice(drawn.n_obs, n, replace=False, p=weight / weight.sum()))
    drawn = drawn[keep].copy()
    if doublets:
        pairs = rng.choice(n, int(doublets * n), replace=False)
        counts = drawn.layers["counts"].toarray()
        counts[pairs] = np.round((counts[pairs] + counts[rng.choice(n, len(pairs))]) / 2)
        drawn.X = sparse.csr_matrix(counts)
        drawn.layers["counts"] = drawn.X.copy()
    drawn = simulate.standard_preprocess(drawn)
    edges = pd.DataFrame({name: truth[name] for name in ("from", "to", "length")})
    cells = ad.AnnData(obs=pd.DataFrame(index=drawn.obs_names), obsm={"X_pca": drawn.obsm["X_pca"]})
    return cells, trajectory(edges, edge[keep], fraction[keep])


def settings() -> dict[str, dict]:
    """Options of tl.ddrtree by name; "sigma x" and "lam x" are factors of the default."""
    changes: dict[str, dict] = {"default": {}, "not denoised": dict(denoise=False), "not pruned": dict(prune=False)}
    changes |= {f"denoise={k}": dict(denoise=k) for k in (6, 10, 20)}
    changes |= {f"n_tangents={n}": dict(denoise=dict(n_tangents=n)) for n in (0, 2)}
    changes |= {f"n_starts={n}": dict(n_starts=n) for n in (1, 3)}
    changes |= {f"n_components={d}": dict(n_components=d) for d in (2, 5, 10, 30)}
    changes |= {f"gamma={gamma:g}": dict(gamma=gamma) for gamma in (0.3, 1, 3)}
    changes |= {f"sigma x {factor:g}": dict(sigma=factor) for factor in (0.5, 2)}
    changes |= {f"lam x {factor:g}": dict(lam=factor) for factor in (0.3, 3)}
    changes |= {f"n_nodes={n}": dict(n_nodes=n, prune=True, n_starts=5) for n in (80, 200)}
    changes |= {f"min_gain={g:g}": dict(min_gain=g) for g in (0, 0.002, 0.004, 0.016, 0.03)}
    changes |= {"forks not merged": dict(resolution=0.0), "rng=1": dict(rng=1), "hard": dict(assignment="hard")}
    changes |= {"preset=monocle2": dict(preset="monocle2"), "preset=kdd2015": dict(preset="kdd2015")}
    changes |= {"principal_tree": {}, "principal_tree, not denoised": dict(denoise=False)}
    return changes


def fitted(cells: ad.AnnData, name: str, options: dict, default: dict) -> str:
    """Fit as `options` say; the key under which the tree is."""
    key = "principal_tree" if name.startswith("principal") else "ddrtree"
    after = {option: options[option] for option in ("min_gain", "resolution") if option in options}
    options = {option: value for option, value in options.items() if option not in after}
    for option in ("sigma", "lam"):
        if option in options:
            options[option] = options[option] * default[option]
    getattr(st.tl, key)(cells, **options)
    if after:
        st.tl.prune(cells, key=key, **after)
    return key


def score(metrics, cells: ad.AnnData, key: str, truth) -> dict[str, float]:
    """The benchmark's measures of a stored tree."""
    graph = st.get.graph(cells, key)
    at = st.core.locate(graph, np.asarray(cells.obsm[f"X_{key}"]))
    edges = pd.DataFrame({"from": graph.edges[:, 0], "to": graph.edges[:, 1], "length": graph.edge_length})
    scores = metrics.score(truth, metrics.Trajectory(edges, at.edge, at.fraction))
    return {name: scores[name] for name in (*metrics.METRICS, "overall", "n_leaves")}


def main() -> None:
    """Run, and print means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quality", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", default="20000,40000")
    parser.add_argument("--only", default="", help="settings whose name contains one of these, separated by commas")
    parser.add_argument("--large", action="store_true", help="also 20,000 and 50,000 cells")
    parser.add_argument("--many", action="store_true", help="20,000 cells alone")
    parser.add_argument("--sizes", action="store_true", help="each shape with 250 to 2,000 cells alone")
    asked = parser.parse_args()
    sys.path.insert(0, str(asked.quality.resolve()))
    import metrics
    import simulate

    warnings.simplefilter("ignore")
    rows = []
    for seed in map(int, asked.seeds.split(",")):
        if asked.many:
            chosen = many_cells(seed)
        elif asked.sizes:
            chosen = by_size(simulate, seed)
        else:
            chosen = sets(simulate, seed, large=asked.large)
        for name, arguments in chosen.items():
            cells, truth = simulated(simulate, metrics.Trajectory, **arguments)
            leaves = metrics.score(truth, truth)["n_leaves"]
            st.tl.ddrtree(cells)
            default = cells.uns["ddrtree"]["params"]
            for setting, options in settings().items():
                if not any(part in setting for part in asked.only.split(",")):
                    continue
                began = time.perf_counter()
                key = fitted(cells, setting, dict(options), default)
                seconds = time.perf_counter() - began
                scores = score(metrics, cells, key, truth)
                rows.append(
                    dict(seed=seed, set=name, setting=setting, n_cells=cells.n_obs, true_leaves=leaves, **scores)
                    | dict(rounds=cells.uns[key]["n_iter"], seconds=seconds)
                )
            print(seed, name, flush=True)
            pd.DataFrame(rows).to_csv(asked.out, index=False, float_format="%.4g")
    print((sizes_report if asked.sizes else report)(pd.DataFrame(rows)))


def sizes_report(rows: pd.DataFrame) -> str:
    """Means by setting and number of cells."""
    rows = rows.assign(right=rows["n_leaves"] == rows["true_leaves"])
    table = rows.pivot_table(index="setting", columns="n_cells", values=["overall", "right"], sort=False)
    return table.round(3).to_string()


def report(rows: pd.DataFrame) -> str:
    """Means by setting: over the 18 sets of each seed, the other sets, and by level."""
    rows = rows.assign(
        right=rows["n_leaves"] == rows["true_leaves"],
        level=rows["set"].str.extract(r"-(\w+)")[0],
        others=rows["set"].str.contains(" "),
    )
    main_sets = rows[~rows["others"]]
    table = main_sets.groupby("setting", sort=False)[["overall", "right", "rounds", "seconds"]].mean()
    table.insert(1, "other sets", rows[rows["others"]].groupby("setting")["overall"].mean())
    for level in LEVELS:
        table[level] = main_sets[main_sets["level"] == level].groupby("setting")["overall"].mean()
    return table.round(3).to_string()


if __name__ == "__main__":
    main()
