"""How good a tree can be that is learned from these cells: what is lost if the true tree is known, or its shape is.

  python benchmarks/ceiling.py --quality FOLDER --out FILE.csv [--suites main,alt] [--preparations log1p,pearson]
      [--levels medium,hard] [--starts 5]
  python benchmarks/ceiling.py --quality FOLDER --out FILE.csv --report

FOLDER is the developers' trajectory benchmark (`inputs.py`, `metrics.py`, `peers.py`, `simulate.py`), which is not part
of the package. For each simulated set, in each preparation, scores (the benchmark's `overall`) of

- `oracle`: the true tree, its nodes the means of the cells that truly lie in each stretch, and these cells on it. They
  lie too near, as each has a part in the means;
- `cross-fitted`: the same drawn through one half of the cells, and the other half put on it; both ways;
- `default`: `core.learn_tree` with no argument;
- `known number`: the same with the true number of tips;
- `begun at the truth`: DDRTree of the denoised cells that begins at the true tree, with the true number of tips;
- `begun elsewhere`: the mean of the same from k-means, from several starts. All these fits are pruned to the true
  number of tips, given as many nodes again along what is left, and fitted once more, so that they differ in the tree
  alone.

Could anything tell the fit that began at the truth from the others? Printed are the shares of the sets in which it has
the smallest objective, or the smallest mean distance of the cells as measured from the tree, beside the share that it
would have by chance. Rows that FILE.csv has are not computed again.

Last, a tree of smooth curves (`smooth_curves.py`) that begins at the true tree (`curves from the truth`) or at that
with the known number of tips (`curves from known number`): their scores, and how often the former has the larger
likelihood, in all sets and in those in which its score is larger by .03. `--curves` leaves out the fits that begin at
the truth or elsewhere.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pandas as pd

import smooth_curves
from skeltraj import core

WHICH = ["suite", "set", "preparation"]
ELSEWHERE, TRUTH = "begun elsewhere", "begun at the truth"
CURVES, CURVES_OF_TRUTH = "curves from known number", "curves from the truth"


def true_tree(peers, points, truth):
    """The true tree, as the benchmark's oracle draws it through points."""
    as_graph = lambda X, nodes, edges: core.Graph(nodes, np.array(edges))
    with mock.patch.object(peers, "from_principal_graph", as_graph):
        return peers.oracle(SimpleNamespace(obsm={"X_pca": points}), truth, dims=points.shape[1])


def spread(graph, n_nodes):
    """Nodes of a tree with more between them, evenly, so that there are so many."""
    n_more = np.zeros(len(graph.edges), dtype=int)
    for _ in range(n_nodes - graph.n_nodes):
        n_more[np.argmax(graph.edge_length / (n_more + 1))] += 1
    nodes = [graph.nodes]
    for (a, b), n in zip(graph.edges, n_more, strict=True):
        at = np.arange(1, n + 1)[:, None] / (n + 1)
        nodes.append(graph.nodes[a] + at * (graph.nodes[b] - graph.nodes[a]))
    return np.concatenate(nodes)


class Case:
    """Cells in one preparation, with their truth."""

    def __init__(self, metrics, peers, X, truth):
        self._metrics, self._peers = metrics, peers
        self.X, self.truth = np.asarray(X, dtype=np.float64), truth
        self.n_tips = int(metrics.score(truth, truth)["n_leaves"])

    def score(self, graph, points, rows=slice(None)):
        """Of some cells, put on a tree."""
        truth = self.part(rows)
        at = core.locate(graph, np.asarray(points, dtype=np.float64)[rows])
        edges = pd.DataFrame({"from": graph.edges[:, 0], "to": graph.edges[:, 1], "length": graph.edge_length})
        return self._metrics.score(truth, self._metrics.Trajectory(edges, at.edge, at.fraction))["overall"]

    def part(self, rows):
        """Where some cells truly lie."""
        return self._metrics.Trajectory(self.truth.edges, self.truth.edge[rows], self.truth.fraction[rows])

    def cross_fitted(self, points):
        """The score of each half of the cells on the true tree through the other."""
        order = np.random.default_rng(0).permutation(len(points))
        halves = order[: len(order) // 2], order[len(order) // 2 :]
        pairs = (halves, halves[::-1])
        return np.mean([self.score(true_tree(self._peers, points[a], self.part(a)), points, b) for a, b in pairs])

    def rows(self, n_starts, curves_alone=False):
        """What is measured, a dict each."""
        learned = core.learn_tree(self.X)
        smooth = learned.smooth
        measured = smooth.scores(self.X)
        drawn = true_tree(self._peers, measured, self.truth)
        yield dict(what="oracle", overall=self.score(drawn, measured))
        yield dict(what="cross-fitted", overall=self.cross_fitted(measured))
        yield dict(what="default", overall=self.score(learned.graph, learned.embedding))
        known = core.learn_tree(self.X, prune={"n_tips": self.n_tips})
        yield dict(what="known number", overall=self.score(known.graph, known.embedding))
        R, unit = known.assignment, np.sqrt(known.smooth.values.var(axis=0).sum())
        means = (R.T @ known.smooth.values) / np.reshape(R.sum(axis=0), (-1, 1))
        for what, begin in ((CURVES_OF_TRUTH, drawn), (CURVES, core.Graph(means, known.edges))):
            curves, covariance, likelihood = smooth_curves.fitted(measured, begin, unit)
            yield dict(
                what=what,
                overall=self.score(*smooth_curves.placed(measured, curves, covariance)),
                likelihood=likelihood,
            )
        if curves_alone:
            return
        # one fit after another, from different trees
        values, params = np.asarray(smooth.values, dtype=np.float64), learned.whole.params
        d, n_nodes = params["n_components"], params["n_nodes"]
        same = {name: params[name] for name in ("sigma", "lam", "gamma")}
        first = core.ddrtree(values, d, n_nodes=n_nodes, **same, max_iter=1)
        space = lambda fit, rows: (rows - fit.mean) @ fit.loadings
        begin = true_tree(self._peers, values, self.truth)
        begins = {TRUTH: (first, core.Graph(space(first, begin.nodes), begin.edges))}
        for seed in range(n_starts):
            fit = core.ddrtree(values, d, n_nodes=n_nodes, **same, tol=1e-4, rng=seed)
            begins[f"{ELSEWHERE} {seed}"] = (fit, self.pruned(fit, measured))
        for what, (before, graph) in begins.items():
            fit = before
            for _ in range(2 if what == TRUTH else 1):
                init = space(before, values), spread(graph, n_nodes)
                fit = core.ddrtree(values, d, init=init, **same, tol=1e-4)
                before, graph = fit, self.pruned(fit, measured)
            distance = core.locate(graph, space(fit, measured)).distance.mean()
            yield dict(
                what=what.rsplit(" ", 1)[0] if what != TRUTH else what,
                overall=self.score(graph, fit.embedding),
                objective=fit.objective[-1],
                distance=distance,
            )

    def pruned(self, fit, measured):
        """The tree with the true number of tips."""
        data = (measured - fit.mean) @ fit.loadings
        resolution = 3 * np.sqrt(fit.params["sigma"])
        return core.prune(fit.graph, fit.embedding, data, n_tips=self.n_tips, resolution=resolution).graph


def compared(quality, asked, rows):
    """The table with the rows that it lacks; saved after each set."""
    metrics, peers, simulate, inputs = (quality[name] for name in ("metrics", "peers", "simulate", "inputs"))
    table, done = rows.to_dict("records"), set(rows[WHICH].itertuples(index=False, name=None))
    for suite in asked.suites:
        for name, arguments in simulate.suite(suite).items():
            shape, level = name.rsplit("-", 1)
            wanted = [p for p in asked.preparations or inputs.INPUTS if (suite, name, p) not in done]
            if shape in simulate.INFO_ONLY or level not in asked.levels or not wanted:
                continue
            cells = simulate.simulate(**arguments)
            for preparation in wanted:
                inputs.prepare(cells, preparation)
                case = Case(metrics, peers, cells.obsm["X_pca"], simulate.truth_of(cells))
                which = dict(zip(WHICH, (suite, name, preparation), strict=True), level=level)
                table += [which | row for row in case.rows(asked.starts, asked.curves)]
            pd.DataFrame(table).to_csv(asked.out, index=False, float_format="%.6g")
            print(suite, name, flush=True)
    return pd.DataFrame(table)


def report(rows):
    """Mean scores by level and preparation, and whether the fit that began at the truth stands out."""
    order = ["oracle", "cross-fitted", CURVES_OF_TRUTH, CURVES, TRUTH, "known number", ELSEWHERE, "default"]
    order = [what for what in order if what in set(rows["what"])]
    scores = rows.groupby([*WHICH, "level", "what"])["overall"].mean().reset_index()
    parts = [
        scores.pivot_table(index="what", columns="level", values="overall").reindex(order),
        scores.pivot_table(index=["level", "preparation"], columns="what", values="overall", sort=False)[order],
    ]
    if "likelihood" in rows:
        parts.append(report_of_curves(rows).to_frame())
    fits = rows[rows["what"].isin([TRUTH, ELSEWHERE])].reset_index(drop=True)
    if not len(fits):
        return "\n\n".join(part.round(3).to_string() for part in parts)
    told = {"by chance": fits.groupby(WHICH)["what"].apply(lambda what: (what == TRUTH).mean()).mean()}
    for by in ("objective", "distance"):
        best = fits.loc[fits.groupby(WHICH)[by].idxmin()]
        told[f"smallest {by}"] = (best["what"] == TRUTH).mean()
        told[f"score of the smallest {by}"] = best["overall"].mean()
    parts.append(pd.Series(told, name="begun at the truth").to_frame())
    return "\n\n".join(part.round(3).to_string() for part in parts)


def report_of_curves(rows):
    """How often the curves that began at the truth are the likelier."""
    sets = rows.pivot_table(index=WHICH, columns="what", values=["overall", "likelihood"])
    ahead, likelier = (sets[of, CURVES_OF_TRUTH] - sets[of, CURVES] for of in ("overall", "likelihood"))
    better = ahead > 0.03  # by less, both are as good as the same
    told = {"sets": len(sets), "truth likelier": (likelier > 0).mean()}
    told |= {"sets in which the truth is better": better.sum(), "likelier there": (likelier > 0)[better].mean()}
    likelier_of_two = sets["overall", CURVES_OF_TRUTH].where(likelier > 0, sets["overall", CURVES])
    told |= {"score of the likelier": likelier_of_two.mean(), "mean score": sets["overall"].mean(axis=None)}
    return pd.Series(told, name="curves")


def main():
    """Run what is asked for, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    listed = lambda text: text.split(",")
    parser.add_argument("--quality", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--suites", type=listed, default=["main", "alt"])
    parser.add_argument("--preparations", type=listed, help="names in inputs.py (default: all)")
    parser.add_argument("--levels", type=listed, default=["medium", "hard"])
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--curves", action="store_true", help="without the fits that begin at the truth or elsewhere")
    parser.add_argument("--report", action="store_true", help="only print the tables of the file")
    asked = parser.parse_args()
    rows = pd.read_csv(asked.out) if asked.out.exists() else pd.DataFrame(columns=WHICH)
    if not asked.report:
        sys.path.insert(0, str(asked.quality.resolve()))
        import inputs
        import metrics
        import peers
        import simulate

        warnings.simplefilter("ignore")
        rows = compared(dict(inputs=inputs, metrics=metrics, peers=peers, simulate=simulate), asked, rows)
    print(report(rows))


if __name__ == "__main__":
    main()
