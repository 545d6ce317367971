"""Untouched defaults on cells of several simulators, prepared in several usual ways, beside other programs.

  python benchmarks/preparations.py --quality FOLDER --out FILE.csv [--methods skeltraj,principal_tree]
      [--seeds 9000,9500] [--preparations log1p,cpm] [--sets walks,network] [--python INTERPRETER]
      [--timeout 120] [--again]
  python benchmarks/preparations.py --quality FOLDER --out FILE.csv --report

FOLDER is the developers' trajectory benchmark (`inputs.py`, `metrics.py`, `peers.py`, `run.py`, `simulate.py`), which
is not part of the package. The sets are those of `simulators/sets.py`: genes that follow programmes which walk at
random along branches, paths between types, a gene network, four arms at one fork; with cell cycle, batches, dropout,
uneven branches, 60 to 5,000 genes. Each is prepared as `inputs.py` does it: logarithm of counts per median, per 10,000,
scaled genes, square roots, Pearson residuals, whitened components and so on. A method gets the components alone.

Methods: `skeltraj` (`tl.ddrtree`) and `principal_tree` with no argument, any of the benchmark's `peers.py`, and
`oracle`, the true tree drawn through the cells: a ceiling. Peers run in processes of their own with one thread, by
INTERPRETER if they are installed elsewhere (scFates; PAGA needs igraph). Give this process one thread too:
`OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1`.

Rows that FILE.csv has are not computed again, so methods, sets and seeds can be added; `--again` drops the rows of the
methods that are named first. Score: the benchmark's `overall` (geometric mean of cor_dist, F1_branches, F1_milestones,
HIM); tips in excess are found minus true ones; agreement is that of a fit's starts, averaged.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd

from defaults import score
from simulators.representations import REPRESENTATIONS
from simulators.sets import SETS, drawn

OURS = {"skeltraj": "ddrtree", "principal_tree": "principal_tree"}
NO_PEERS = (*OURS, "oracle")
WHICH = ["seed", "set", "preparation", "method"]


def ours(metrics, cells: ad.AnnData, method: str, truth) -> dict:
    """Scores of a tree that is learned with no argument."""
    import skeltraj as st

    began = time.perf_counter()
    getattr(st.tl, OURS[method])(cells)
    seconds = time.perf_counter() - began
    agreement = np.mean(cells.uns[OURS[method]].get("agreement", np.nan))
    return score(metrics, cells, OURS[method], truth) | dict(agreement=agreement, seconds=seconds)


def theirs(quality, worker, truth, data: Path, folder: str, timeout: float) -> dict:
    """Scores of a peer; an error scores 0, and so does what takes more than so many seconds."""
    result = str(Path(folder, "result.pkl"))
    answer = worker.call({"data": str(data), "seed": 0, "out": result}, timeout)
    found = None if "error" in answer else quality["run"].load_prediction(result)
    return kept(quality["metrics"], quality["metrics"].score(truth, found)) | dict(
        seconds=answer.get("seconds"), error=" ".join(answer.get("error", "").split())
    )


def kept(metrics, scores: dict) -> dict:
    """The columns of the table."""
    return {name: scores[name] for name in (*metrics.METRICS, "overall", "n_leaves")}


def workers(quality, methods: list[str], python: str, folder: str) -> dict:
    """A process for each peer, with everything imported and compiled."""
    run, simulate = quality["run"], quality["simulate"]
    small, started = Path(folder, "small.pkl"), {}
    cells = simulate.simulate("bifurcation", 250, 250, "easy", seed=9)
    run.adata_to_pickle(cells, small, cells.uns["truth"]["start_cell"])
    for method in methods:
        if method not in NO_PEERS:
            started[method] = run.Worker(method, python)
            answer = started[method].call({"data": str(small), "seed": 0, "out": str(Path(folder, "result.pkl"))}, 300)
            if "error" in answer:
                raise SystemExit(f"{method} does not run with {python}: {answer['error']}")
    return started


def compared(quality, asked, rows: pd.DataFrame) -> pd.DataFrame:
    """The table with the rows that it lacks; saved after each set."""
    metrics, simulate, inputs = quality["metrics"], quality["simulate"], quality["inputs"]
    done, table = set(rows[WHICH].itertuples(index=False, name=None)), rows.to_dict("records")
    with tempfile.TemporaryDirectory() as folder:
        peers = workers(quality, asked.methods, asked.python, folder)
        try:
            for name in asked.sets:
                for seed in asked.seeds:
                    wanted = [
                        (preparation, method)
                        for preparation in asked.preparations
                        for method in asked.methods
                        if (seed, name, preparation, method) not in done
                    ]
                    if not wanted:
                        continue
                    cells = simulate.standard_preprocess(drawn(name, seed))
                    truth = simulate.truth_of(cells)
                    leaves = metrics.score(truth, truth)["n_leaves"]
                    for preparation in dict.fromkeys(preparation for preparation, _ in wanted):
                        inputs.prepare(cells, preparation)
                        data = Path(folder, "data.pkl")
                        quality["run"].adata_to_pickle(cells, data, cells.uns["truth"]["start_cell"])
                        for method in (m for p, m in wanted if p == preparation):
                            if method in OURS:
                                bare = ad.AnnData(obs=cells.obs[[]].copy(), obsm={"X_pca": cells.obsm["X_pca"].copy()})
                                found = ours(metrics, bare, method, truth)
                            elif method == "oracle":
                                found = kept(metrics, metrics.score(truth, quality["peers"].oracle(cells, truth)))
                            else:
                                found = theirs(quality, peers[method], truth, data, folder, asked.timeout)
                            which = dict(zip(WHICH, (seed, name, preparation, method), strict=True))
                            table.append(which | found | dict(true_leaves=leaves, n_cells=cells.n_obs))
                    pd.DataFrame(table).to_csv(asked.out, index=False, float_format="%.5g")
                    print(seed, name, flush=True)
        finally:
            for worker in peers.values():
                worker.stop()
    return pd.DataFrame(table)


def report(rows: pd.DataFrame) -> str:
    """Mean scores by preparation and by set, tips in excess, agreement, and ours beside the best peer.

    A case is a set of a seed in one preparation. Only those that every method has are compared.
    """
    has = rows.groupby(WHICH[:3])["method"].transform("nunique")
    n_cases, rows = len(rows[WHICH[:3]].drop_duplicates()), rows[has == rows["method"].nunique()]
    shared = rows[WHICH[:3]].drop_duplicates()
    if not len(shared):
        return f"none of {n_cases} cases has all methods: name some of them"
    rows = rows.assign(
        excess=rows["n_leaves"] - rows["true_leaves"],
        wrong=(rows["n_leaves"] != rows["true_leaves"]).astype(float),
        simulator=rows["set"].str.split().str[0],
    )
    order = rows.groupby("method")["overall"].mean().sort_values(ascending=False).index
    columns = [name for name in ("overall", "excess", "wrong", "agreement", "seconds") if name in rows]
    parts = [
        f"{len(shared)} of {n_cases} cases, those with all methods: {shared['set'].nunique()} sets, "
        f"{shared['seed'].nunique()} seeds, {shared['preparation'].nunique()} preparations",
        rows.groupby("method")[columns].mean().reindex(order),
    ]
    for by in ("preparation", "simulator", "set"):
        for value in ("overall", "excess") if by != "simulator" else ("overall",):
            table = rows.pivot_table(index="method", columns=by, values=value, sort=False).reindex(order)
            parts += [f"{value} by {by}", table.T if by == "set" else table]
    for by in ("preparation", "simulator"):
        parts += [f"beside the best peer, by {by}", beside_best(rows, by)]
    return "\n\n".join(part if isinstance(part, str) else part.round(3).to_string() for part in parts)


def beside_best(rows: pd.DataFrame, by: str) -> pd.DataFrame:
    """For each preparation or simulator the best peer's mean, whose it is, and what ours have."""
    mean = rows.pivot_table(index=by, columns="method", values="overall", sort=False)
    peers = mean[[method for method in mean if method not in NO_PEERS]]
    if not peers.shape[1]:
        return mean
    best = pd.DataFrame({"best peer": peers.idxmax(axis=1), "its mean": peers.max(axis=1)})
    for method in (method for method in OURS if method in mean):
        best[method] = mean[method]
        best[f"{method}: ahead"] = mean[method] - best["its mean"]
    return best


def main() -> None:
    """Run what is asked for, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    listed = lambda text: text.split(",")
    parser.add_argument("--quality", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--methods",
        type=listed,
        default=["oracle", "skeltraj", "principal_tree", "paga_tree", "ensemble_mst", "scfates_ppt"],
    )
    parser.add_argument("--seeds", type=lambda text: [int(seed) for seed in text.split(",")], default=[9000, 9500])
    parser.add_argument(
        "--preparations",
        type=listed,
        help="names in inputs.py (default: all of these) or in simulators/representations.py",
    )
    parser.add_argument(
        "--sets", type=listed, default=[""], help="sets whose names contain one of these (default: all)"
    )
    parser.add_argument("--python", default=sys.executable, help="interpreter of the peers")
    parser.add_argument("--timeout", type=float, default=120, help="seconds that a peer may take for a set")
    parser.add_argument("--again", action="store_true", help="first drop what the file has of these methods")
    parser.add_argument(
        "--report", action="store_true", help="only print the tables of the file, for the methods that are named"
    )
    asked = parser.parse_args()
    rows = pd.read_csv(asked.out) if asked.out.exists() else pd.DataFrame(columns=WHICH)
    if asked.report:
        rows = rows[rows["method"].isin(asked.methods)]
    else:
        sys.path.insert(0, str(asked.quality.resolve()))
        import inputs
        import metrics
        import peers
        import run
        import simulate

        warnings.simplefilter("ignore")
        asked.preparations = asked.preparations or list(inputs.INPUTS)
        inputs.INPUTS |= REPRESENTATIONS
        asked.sets = [name for name in SETS if any(part in name for part in asked.sets)]
        if asked.again:
            rows = rows[~rows["method"].isin(asked.methods)]
        quality = dict(inputs=inputs, metrics=metrics, peers=peers, run=run, simulate=simulate)
        rows = compared(quality, asked, rows)
    print(report(rows))


if __name__ == "__main__":
    main()
