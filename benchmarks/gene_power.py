"""Which genes are found: skeltraj, tradeSeq's Python port and Monocle 2 on the same counts with known truth.

    python benchmarks/gene_power.py --peer-python PATH --rscript Rscript [--seeds 0 3] [--cells 800] [--only fork]
    python benchmarks/gene_power.py --quality FOLDER ...    also on another simulator's genes and decoys

Counts are those of `gene_simulation.py` on known trees, the programs those of `gene_peers.py`; a program that is not
here is left out, and answers are kept, so that a second run measures skeltraj alone. Two tests are compared:

- association: does a gene change along the tree? True: all genes but the flat ones.
- branch: does it differ between the arms of the fork? True: the patterns in one arm. Those that change in the trunk
  only, or in all arms alike, count as false.

For each test and program, over all seeds of a setting:

- power at a true false-discovery rate of 6 %: the share of the true genes with p up to the largest threshold at which
  at most 6 % of the genes found are false. It asks how well p-values rank, not whether they are right;
- power at Benjamini-Hochberg .05 within each set, and the share of false ones that is then found ("FDR").

A gene without a p-value is not found. Tables of the first by pattern follow.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control

import skeltraj as st
from gene_peers import ASSOCIATION, BRANCH, MONOCLE, TRADESEQ, Failed, add_arguments, asked, input_of
from gene_simulation import from_folder, simulate

OURS = "skeltraj"
RATE = 0.06
TRUTH = {ASSOCIATION: "changes", BRANCH: "differs"}
SETTINGS = {
    "fork": dict(tree="fork"),
    "fork, trend": dict(tree="fork", dispersion="trend"),
    "uneven fork, trend": dict(tree="uneven fork", dispersion="trend", even=False),
    "line, trend": dict(tree="line", dispersion="trend"),
    "three arms, trend": dict(tree="three arms", dispersion="trend"),
}
OTHERS = (("bifurcation", "medium"), ("bifurcation", "hard"))


def of_skeltraj(adata) -> pd.DataFrame:
    """p-values of skeltraj's tests by gene."""
    given = dict(layer="counts", size_factors="size_factor", progress=False)
    st.tl.association(adata, **given)
    table = pd.DataFrame({ASSOCIATION: st.get.association(adata).set_index("names")["pvals"]})
    if len(st.get.graph(adata).forks):
        st.tl.branch_test(adata, "F1", **given)
        table[BRANCH] = st.get.branch_test(adata, "F1").set_index("names")["pvals"]
    return table


def answers_of(adata, given) -> pd.DataFrame:
    """p-values of all programs: one row for each gene, test and program."""
    rows = []
    for program in (OURS, TRADESEQ, MONOCLE):
        command = {TRADESEQ: given.peer_python, MONOCLE: given.rscript}.get(program)
        try:
            if program == OURS:
                if given.without_ours:
                    continue
                table = of_skeltraj(adata)
            else:
                table = asked(program, input_of(adata), command=command, cache=given.cache, nice=given.nice).table
        except Failed as why:
            print(why, file=sys.stderr)
            continue
        for column in table:
            test, _, how = str(column).partition(", ")
            rows.append(
                pd.DataFrame({"gene": adata.var_names, "p": table[column].reindex(adata.var_names).to_numpy()}).assign(
                    test=test, program=f"{program}, {how}" if how else program
                )
            )
    about = adata.var[["pattern", "size", "mean", *TRUTH.values()]].rename_axis("gene").reset_index()
    return pd.concat(rows).merge(about, on="gene") if rows else about.iloc[:0]


def threshold(p: np.ndarray, true: np.ndarray, rate: float = RATE) -> float:
    """The largest p at which at most this share of the genes found is false; below 0 if there is none."""
    order = np.argsort(p, kind="stable")
    order = order[np.isfinite(p[order])]
    false = np.cumsum(~true[order])
    last_of_ties = np.r_[p[order][1:] != p[order][:-1], True] if len(order) else np.empty(0, dtype=bool)
    fine = np.flatnonzero(last_of_ties & (false <= rate * np.arange(1, len(order) + 1)))
    return float(p[order[fine[-1]]]) if len(fine) else -1.0


def judged(rows: pd.DataFrame) -> tuple[dict[str, float], pd.Series]:
    """Figures of one test of one program, and the genes found at the true rate."""
    p, true = rows["p"].to_numpy(), rows[TRUTH[rows["test"].iloc[0]]].to_numpy(dtype=bool)
    found = np.nan_to_num(p, nan=2.0) <= threshold(p, true)
    nominal = np.zeros(len(p), dtype=bool)
    for _, at in rows.reset_index(drop=True).groupby("set").groups.items():
        own = np.asarray(at)[np.isfinite(p[at])]
        nominal[own] = false_discovery_control(p[own]) <= 0.05 if len(own) else False
    flat = (rows["pattern"] == "flat").to_numpy() & np.isfinite(p)
    figures = {
        "genes": len(p),
        "true": int(true.sum()),
        "power": found[true].mean(),
        "power, BH .05": nominal[true].mean(),
        "FDR, BH .05": (nominal & ~true).sum() / max(1, nominal.sum()),
        "flat below .05": (p[flat] < 0.05).mean() if flat.any() else np.nan,
        "no p": np.isnan(p).mean(),
    }
    return figures, pd.Series(found, index=rows.index)


def report(rows: pd.DataFrame) -> str:
    """Tables of all settings and tests."""
    parts = []
    for (setting, test), some in rows.groupby(["setting", "test"], sort=False):
        figures, by_pattern = {}, {}
        for program, own in some.groupby("program", sort=False):
            figures[program], found = judged(own)
            groups = own.assign(found=found)[own[TRUTH[test]].to_numpy(dtype=bool)]
            by_pattern[program] = pd.concat(
                [groups.groupby(name, sort=False)["found"].mean() for name in ("pattern", "size")]
            )
        parts.append(f"\n{setting}: {test}\n{pd.DataFrame(figures).T.round(3).to_string()}")
        parts.append(f"\n{pd.DataFrame(by_pattern).T.round(2).to_string()}")
    return "\n".join(parts)


def sets(given):
    """Name, seed, and what draws the cells, one set after another."""
    for seed in range(*given.seeds):
        for name in given.only:
            options = dict(n_cells=given.cells, n_flat=given.flat, n_each=given.each, seed=seed)
            yield name, seed, partial(simulate, **options, **SETTINGS[name])
        for shape, level in OTHERS if given.quality is not None else ():
            options = dict(n_cells=given.cells, n_genes=given.flat, seed=seed)
            yield (
                f"other simulator, {shape}, {level}",
                seed,
                partial(from_folder, given.quality, shape, level, **options),
            )


def main() -> None:
    """Simulate, ask all programs, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 3), help="from, to")
    parser.add_argument("--cells", type=int, default=800)
    parser.add_argument("--flat", type=int, default=300)
    parser.add_argument("--each", type=int, default=25)
    parser.add_argument("--only", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--without-ours", action="store_true", help="ask the other programs alone")
    parser.add_argument("--quality", type=Path, help="a folder with another simulator")
    parser.add_argument("--out", type=Path, help="a CSV of all p-values")
    given = parser.parse_args()
    if given.quality is None:
        print("no --quality: genes of the other simulator are left out", file=sys.stderr)
    rows = []
    for name, seed, draw in sets(given):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows.append(answers_of(draw(), given).assign(setting=name, set=seed))
        print(f"seed {seed}, {name}", file=sys.stderr, flush=True)
    table = pd.concat(rows, ignore_index=True)
    if given.out is not None:
        table.to_csv(given.out, index=False)
    print(report(table))


if __name__ == "__main__":
    main()
