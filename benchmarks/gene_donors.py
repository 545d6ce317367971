"""Tests along a tree with donors as the unit: their level where nothing changes, and what they find.

    python benchmarks/gene_donors.py [--seeds 0 3] [--genes 2000] [--only ...] [--power] [--speed]

Counts of donors on a given tree of three branches: means .05 to 10, dispersions .1 to 10, size factors over a fivefold
range, 100 to 200 cells for each donor, whose cells lie where they will. A donor has a level of its own for each gene
(log-normal, standard deviation .3), and in some sets a curve of its own (values at the tree's four ends, standard
deviation .3, linear between them), in some very different numbers of cells on different branches, or fewer donors.
Tested are association, branches, and differences between two conditions (donors of one condition, or with cells of
both), with donors as the unit and with cells as replicates.

Printed as by `gene_levels.py`. With ``--power`` a fifth of the genes have another level in one condition, a fifth
another curve: the share of them found at a true false-discovery rate of 5 %, by the combined p-value, by those of level
and shape, by Welch's test of donors' logarithms of counts per million, and with cells as replicates; and the true
false-discovery rate where Benjamini and Hochberg's is 5 %. With ``--speed`` seconds for 20,000 genes.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings

import numpy as np
import pandas as pd
from scipy import stats

import skeltraj as st
from gene_levels import bounds, row

GRAPH = st.core.Graph(np.array([[0.0, 0], [1, 0], [2, 1], [2, -1]]), np.array([[0, 1], [1, 2], [1, 3]]))
SETS = {  # n_donors, cells of a donor, standard deviation of curves, how evenly donors lie on the branches
    "6 and 6": (12, (100, 200), 0.0, None),
    "6 and 6, curves of their own": (12, (100, 200), 0.3, None),
    "6 and 6, unequal": (12, (20, 400), 0.0, 2.0),
    "6 and 6, unequal, curves": (12, (20, 400), 0.3, 2.0),
    "3 and 3": (6, (100, 200), 0.0, None),
}


class Donors:
    """Cells of donors, and counts of genes in them."""

    def __init__(self, setting: str, n_genes: int, seed: int) -> None:
        n_donors, n_each, slope, even = SETS[setting]
        rng = self.rng = np.random.default_rng(seed)
        self.donor = np.repeat(np.arange(n_donors), rng.integers(n_each[0], n_each[1] + 1, n_donors))
        self.n = n = len(self.donor)
        shares = np.full((n_donors, 3), 1 / 3) if even is None else rng.dirichlet([even] * 3, n_donors)
        edge = np.array([rng.choice(3, p=shares[d]) for d in self.donor])
        self.position = st.core.Position(edge, rng.uniform(size=n), np.zeros(n))
        self.basis = st.core.tree_basis(GRAPH, self.position)
        self.size_factors = np.exp(rng.uniform(-np.log(5) / 2, np.log(5) / 2, n))
        self.condition = {"nested": self.donor % 2, "paired": rng.integers(0, 2, n)}
        self.mean = np.exp(rng.uniform(np.log(0.05), np.log(10), n_genes))
        self.dispersion = np.exp(rng.uniform(np.log(0.1), np.log(10), n_genes))
        ends = np.zeros((n, 4))
        fraction = self.position.fraction
        ends[np.arange(n), GRAPH.edges[edge, 0]] += 1 - fraction
        ends[np.arange(n), GRAPH.edges[edge, 1]] += fraction
        self.ends = ends - ends.mean(axis=0)
        self.log_rate = np.log(self.mean) + rng.normal(0, 0.3, (n_donors, n_genes))[self.donor]
        if slope:
            curves = rng.normal(0, slope, (n_donors, 4, n_genes))
            self.log_rate += np.einsum("nk,nkg->ng", self.ends, curves[self.donor])

    def counts(self, effect: np.ndarray | float = 0.0) -> np.ndarray:
        """Counts of all genes, (n, n_genes), with an effect on the logarithm of their means."""
        rate = np.exp(self.log_rate + effect) * self.size_factors[:, None]
        shape = 1 / self.dispersion
        return self.rng.poisson(self.rng.gamma(shape, rate / shape)).astype(np.float64)

    def test(self, name: str, counts: np.ndarray, **more) -> dict[str, np.ndarray]:
        """p-values of a test, by what they say."""
        more = {"size_factors": self.size_factors} | more
        given = (counts, self.basis, self.position)
        if name == "association":
            return {"": st.core.association(*given, 0, **more).p_value}
        if name == "branch":
            return {"": st.core.branch_test(*given, 0, 1, **more).p_value}
        found = st.core.condition_test(*given, self.condition[name], **more)
        return {"": found.p_value, ", level": found.p_level, ", shape": found.p_shape}


def levels(given: argparse.Namespace) -> None:
    """Print how often genes that do not differ are found."""
    found: dict[str, list[np.ndarray]] = {}
    for seed in range(*given.seeds):
        for setting in SETS:
            if not setting.startswith(tuple(given.only)):
                continue
            donors = Donors(setting, given.genes, seed)
            counts = donors.counts()
            for test in ("association", "branch", "nested", "paired"):
                for unit, sample in (("donors", donors.donor), ("cells", None)):
                    for what, p in donors.test(test, counts, sample=sample).items():
                        found.setdefault(f"{setting}: {test}{what}, by {unit}", []).append(p)
        print(f"seed {seed}", file=sys.stderr, flush=True)
    report = pd.DataFrame({name: row(rows) for name, rows in found.items()}).T
    print(report.to_string(formatters=dict.fromkeys(("genes", "no p"), "{:.0f}".format), float_format="{:.4f}".format))
    print(bounds(int(report["genes"].max())))


def found_at(p: np.ndarray, differs: np.ndarray, what: np.ndarray, rate: float = 0.05) -> tuple[float, float]:
    """Share of the genes in `what` that are found at a true false-discovery rate; the true one at an adjusted one."""
    p = np.where(np.isfinite(p), p, 1.0)
    order = np.argsort(p, kind="stable")
    false = np.cumsum(~differs[order]) / np.arange(1, len(p) + 1)
    good = np.flatnonzero(false <= rate)
    n_best = 0 if not len(good) else good[-1] + 1
    adjusted = stats.false_discovery_control(p) <= rate
    return what[order[:n_best]].sum() / what.sum(), (adjusted & ~differs).sum() / max(adjusted.sum(), 1)


def power(given: argparse.Namespace) -> None:
    """Print what is found where conditions differ."""
    for setting in SETS:
        if not setting.startswith(tuple(given.only)):
            continue
        rows: dict[str, list[list[float]]] = {}
        for seed in range(*given.seeds):
            donors = Donors(setting, given.genes, seed)
            kind = np.arange(given.genes) % 5
            second = donors.condition["nested"][:, None] == 1
            size = donors.rng.choice([-1.0, 1.0], given.genes)
            curve = donors.ends[:, 2] - donors.ends[:, 3]  # up on one branch, down on the other
            effect = second * size * ((kind == 0) * 0.7 + (kind == 1) * curve[:, None])
            counts = donors.counts(effect)
            of_donor = np.array([counts[donors.donor == d].sum(axis=0) for d in range(donors.donor.max() + 1)])
            exposure = np.bincount(donors.donor, donors.size_factors)
            logs = np.log((of_donor + 0.5) / (exposure[:, None] + 0.5 / donors.mean))
            tests = {f"donors{what}": p for what, p in donors.test("nested", counts, sample=donors.donor).items()}
            tests["Welch"] = stats.ttest_ind(logs[::2], logs[1::2], equal_var=False).pvalue
            tests |= {f"cells{what}": p for what, p in donors.test("nested", counts).items()}
            for name, p in tests.items():
                level, wrong = found_at(p, kind < 2, kind == 0)
                rows.setdefault(name, []).append([level, found_at(p, kind < 2, kind == 1)[0], wrong])
        table = pd.DataFrame(
            {name: np.mean(values, axis=0) for name, values in rows.items()},
            index=["level found", "shape found", "false at 5 %"],
        ).T
        print(f"\n{setting}\n{table.to_string(float_format='{:.3f}'.format)}")


def speed() -> None:
    """Print seconds for 20,000 genes."""
    donors = Donors("6 and 6", 20_000, 0)
    counts = donors.counts()
    donors.test("nested", counts[:, :200], sample=donors.donor)  # compiles
    for test in ("association", "branch", "nested"):
        for unit, sample in (("donors", donors.donor), ("cells", None)):
            begin = time.perf_counter()
            donors.test(test, counts, sample=sample)
            print(f"20,000 genes, {donors.n} cells, {test} by {unit}: {time.perf_counter() - begin:.0f} s", flush=True)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 3), help="from, to")
    parser.add_argument("--genes", type=int, default=2000)
    parser.add_argument("--only", nargs="+", default=[""], help="sets whose name begins with one of these")
    parser.add_argument("--power", action="store_true")
    parser.add_argument("--speed", action="store_true")
    given = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if given.speed:
            speed()
        elif given.power:
            power(given)
        else:
            levels(given)


if __name__ == "__main__":
    main()
