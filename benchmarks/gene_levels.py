"""Do p-values of the tests of genes hold their level where nothing changes? The tree is given, not learned.

    python benchmarks/gene_levels.py [--seeds 0 3] [--genes 2000] [--cells 1000] [--only ...] [--by-mean]

Genes of `gene_simulation.py` for which the null hypothesis holds: means .05 to 10, dispersions .1 to 10 (unrelated to
the mean, or with a trend), size factors over a fivefold range, on trees with arms of equal and of unequal length, and
cells spread evenly or not. The tests:

- association: flat genes; with batches that are unrelated to the tree and with ones that change along it, each as a
  covariate;
- branch: flat genes, and genes that change in the trunk or in all arms alike, between the arms of the first fork;
- conditions: flat genes, and genes that change along the tree alike in both conditions, with 6 against 6 donors whose
  levels differ (log-normal, sd .3); level and shape apart as well; and with cells taken for replicates, which they are
  not;
- Gaussian: flat genes as logarithms of counts over size factors, and as normal and as long-tailed (t, 5 degrees of
  freedom) values.

Printed for each: the p-value of Kolmogorov and Smirnov's test against the uniform distribution (the smallest and the
middle one of the seeds), the share of genes with
p up to .05, .01 and .001 over all seeds, with the bounds within which it lies in 95 of 100 such runs if the level is
right, and genes without p. With ``--by-mean`` the shares by the genes' mean, too.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np
import pandas as pd
from scipy import stats

import skeltraj as st
from gene_simulation import ALIKE, TRUNK, log_values, simulate

LEVELS = (0.05, 0.01, 0.001)
TREES = ("fork", "uneven fork", "uneven three arms", "two forks", "line")
NOISE = {"normal": lambda rng, shape: rng.standard_normal(shape), "t, 5": lambda rng, shape: rng.standard_t(5, shape)}


class Parts:
    """What all tests of one set of cells are given."""

    def __init__(self, adata) -> None:
        self.adata, self.counts = adata, adata.layers["counts"]
        self.graph = st.get.graph(adata)
        self.position = st.core.locate(self.graph, np.asarray(adata.obsm["X_ddrtree"]))
        self.root = int(st.get.ordered(adata)["root"])
        self.basis = st.core.tree_basis(self.graph, self.position)
        self.size_factors = adata.obs["size_factor"].to_numpy()

    def association(self, **more) -> np.ndarray:
        """p-values of the association of counts."""
        more = {"size_factors": self.size_factors} | more
        return st.core.association(self.counts, self.basis, self.position, self.root, **more).p_value

    def gaussian(self, Y) -> np.ndarray:
        """p-values of the association of other values."""
        return st.core.association(Y, self.basis, self.position, self.root, family="gaussian").p_value

    def branch(self, Y=None, **more) -> np.ndarray:
        """p-values between the arms of the first fork."""
        if Y is None:
            Y, more = self.counts, {"size_factors": self.size_factors} | more
        fork = int(self.graph.forks[0])
        return st.core.branch_test(Y, self.basis, self.position, self.root, fork, **more).p_value

    def conditions(self, which: str = "p_value", *, donors: bool = True) -> np.ndarray:
        """p-values between the two conditions of the donors."""
        obs = self.adata.obs
        sample = obs["donor"].cat.codes.to_numpy() if donors else None
        given = dict(size_factors=self.size_factors, sample=sample)
        found = st.core.condition_test(
            self.counts, self.basis, self.position, obs["condition"].cat.codes.to_numpy(), **given
        )
        return getattr(found, which)


def tests_of(seed: int, given) -> dict:
    """What draws and tests each set, by name: functions that give p-values."""
    null = dict(n_each=0, n_flat=given.genes, n_cells=given.cells, seed=seed)
    changing = [*TRUNK, ALIKE]
    each = dict(n_flat=0, n_each=-(-given.genes // len(changing)), n_cells=given.cells, patterns=changing, seed=seed)
    drawn: dict = {}

    def parts(name: str, **options) -> Parts:
        if name not in drawn:
            drawn.clear()  # one at a time
            drawn[name] = Parts(simulate(**options))
        return drawn[name]

    tests: dict = {}
    for tree in TREES:
        for kind, even in (("unrelated", True), ("trend", False)):
            flat = dict(null, tree=tree, dispersion=kind, even=even)
            name = f"{tree}, {kind}"
            tests[f"association: {name}"] = lambda n=name, o=flat: _with_mean(parts(n, **o), Parts.association)
            if tree != "line":
                other = dict(each, tree=tree, dispersion=kind, even=even)
                tests[f"branch: {name}"] = lambda n=name, o=flat: _with_mean(parts(n, **o), Parts.branch)
                changes = f"{name}, genes that change"
                tests[f"branch: {changes}"] = lambda n=changes, o=other: _with_mean(parts(n, **o), Parts.branch)
    for batches in ("even", "along"):
        name = f"fork, trend, batches {batches}"
        flat = dict(null, tree="fork", dispersion="trend", batches=batches)
        tests[f"association: {name}"] = lambda n=name, o=flat: _with_mean(parts(n, **o), _with_batch)
    for kind in ("unrelated", "trend"):
        with_donors = dict(tree="fork", dispersion=kind, n_donors=12)
        for name, options in ((kind, null | with_donors), (f"{kind}, genes that change", each | with_donors)):
            for part, which in (("", "p_value"), (", level", "p_level"), (", shape", "p_shape")):
                tests[f"conditions{part}: {name}"] = lambda n=name, o=options, w=which: _with_mean(
                    parts(f"donors, {n}", **o), lambda p: p.conditions(w)
                )
            tests[f"conditions, cells for replicates: {name}"] = lambda n=name, o=options: _with_mean(
                parts(f"donors, {n}", **o), lambda p: p.conditions(donors=False)
            )
    fork = dict(null, tree="fork", dispersion="trend")
    logs = lambda p: log_values(p.adata)
    tests["association, Gaussian: log counts"] = lambda: _with_mean(parts("G", **fork), lambda p: p.gaussian(logs(p)))
    tests["branch, Gaussian: log counts"] = lambda: _with_mean(
        parts("G", **fork), lambda p: p.branch(logs(p), family="gaussian")
    )
    for noise, draw in NOISE.items():
        values = lambda p, d=draw: d(np.random.default_rng(seed), p.counts.shape)
        tests[f"association, Gaussian: {noise}"] = lambda v=values: _with_mean(
            parts("G", **fork), lambda p: p.gaussian(v(p))
        )
        tests[f"branch, Gaussian: {noise}"] = lambda v=values: _with_mean(
            parts("G", **fork), lambda p: p.branch(v(p), family="gaussian")
        )
    return tests


def _with_mean(parts: Parts, test) -> pd.DataFrame:
    return pd.DataFrame({"p": test(parts), "mean": parts.adata.var["mean"].to_numpy()})


def _with_batch(parts: Parts) -> np.ndarray:
    second = (parts.adata.obs["batch"] == "two").to_numpy(dtype=float)
    return parts.association(covariates=second[:, None])


def row(sets: list[np.ndarray]) -> dict[str, float]:
    """Figures of the p-values of a test: Kolmogorov and Smirnov's of each set, the smallest and the middle one."""
    p = np.concatenate(sets)
    known = p[np.isfinite(p)]
    ks = [stats.kstest(own[np.isfinite(own)], "uniform").pvalue for own in sets]
    shares = {f"{level:g}": (known <= level).mean() for level in LEVELS}
    return {"genes": len(p), "no p": len(p) - len(known), "KS p, least": min(ks), "KS p": np.median(ks)} | shares


def bounds(n: int) -> str:
    """Within which shares lie in 95 of 100 runs where the level is right."""
    said = [f"{low / n:.4f} to {high / n:.4f}" for low, high in (stats.binom.interval(0.95, n, l) for l in LEVELS)]
    return f"bounds for {n} genes: " + ", ".join(f"{level:g}: {text}" for level, text in zip(LEVELS, said, strict=True))


def main() -> None:
    """Run, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 3), help="from, to")
    parser.add_argument("--genes", type=int, default=2000)
    parser.add_argument("--cells", type=int, default=1000)
    parser.add_argument("--only", nargs="+", default=[""], help="tests whose name begins with one of these")
    parser.add_argument("--by-mean", action="store_true", help="shares by the genes' mean as well")
    given = parser.parse_args()
    found: dict[str, list[pd.DataFrame]] = {}
    for seed in range(*given.seeds):
        for name, test in tests_of(seed, given).items():
            if not name.startswith(tuple(given.only)):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.setdefault(name, []).append(test())
        print(f"seed {seed}", file=sys.stderr, flush=True)
    report = pd.DataFrame({name: row([own["p"].to_numpy() for own in rows]) for name, rows in found.items()}).T
    print(report.to_string(formatters=dict.fromkeys(("genes", "no p"), "{:.0f}".format), float_format="{:.4f}".format))
    print(bounds(int(report["genes"].max())))
    if given.by_mean:
        for name, rows in found.items():
            table = pd.concat(rows)
            groups = table.groupby(pd.cut(table["mean"], [0, 0.1, 0.3, 1, 3, 100]), observed=True)["p"]
            by_mean = pd.DataFrame({str(at): row([p.to_numpy()]) for at, p in groups}).T
            print(f"\n{name}\n{by_mean.to_string(float_format='{:.4f}'.format)}")


if __name__ == "__main__":
    main()
