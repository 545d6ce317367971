"""Any sequence of calls on AnnData: never an error in others' words, never a result of another tree for one of this."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import anndata as ad
import networkx as nx
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, multiple, rule
from matplotlib import pyplot as plt

from annotated import CALLS, assert_untouched, function, taken
from samples import cells
from skeltraj import get, tl
from stored import as_networkx, written_and_read
from strategies import answered

KEYS = ("ddrtree", "principal_tree", "principal_graph", "drtree", "mpme", "spl", "ddrtree again")
QUIET = dict(progress=False)
READS = [name for name in CALLS if name.startswith(("get.", "pl.")) and name != "pl.report"]
MADE = {
    "composition": lambda adata, key: get.composition(adata, "stage", key).branches,
    "association": lambda adata, key: get.association(adata, key),
    "branch_test": lambda adata, key: get.branch_test(adata, "F1", key),
    "stability": lambda adata, key: get.stability(adata, key).branches,
    "survival": lambda adata, key: get.survival(adata, key).branches,
    "direction": lambda adata, key: get.direction(adata, key).branches,
}


def tree_of(adata, key):
    """By what this test knows a tree and the root of its order."""
    fit = adata.uns[key]
    nodes, edges = np.asarray(fit["nodes"], dtype="<f8"), np.asarray(fit["edges"], dtype="<i8")
    return nodes.tobytes(), edges.tobytes(), int(fit["order"]["root"]) if "order" in fit else None


def rows_of(table):
    """The rows of numbers of a table, as a set."""
    numbers = table.select_dtypes("number")
    return {tuple(f"{value:.9g}" for value in row) for row in numbers.to_numpy(dtype=float)}


class Sequences(RuleBasedStateMachine):
    """Steps that each take AnnData and give new ones; what they took stays as it was."""

    those = Bundle("those")

    def __init__(self):
        super().__init__()
        self.made = {}  # rows of each kind of result, by the tree and root of which they were made

    @initialize(target=those, seed=st.integers(0, 3))
    def begin(self, seed):
        adata = cells(60, seed=seed, n_features=4)
        rng = np.random.default_rng(seed)
        adata.obs["time"], adata.obs["event"] = rng.exponential(size=60), rng.random(60) < 0.6
        adata.obs_names = [f"{seed}-{i}" for i in range(60)]
        adata.obsm["X_umap"] = adata.X[:, :2].copy()
        other = cells(50, seed=seed + 10, n_features=4)
        other.obs_names = [f"other {i}" for i in range(50)]
        return multiple(self.learned(adata, "ddrtree"), self.learned(other, "ddrtree"), adata)

    def learned(self, adata, key):
        return self.done(adata, tl.ddrtree, 2, n_nodes=10, n_starts=1, max_iter=5, key_added=key, **QUIET)

    def done(self, adata, call, *args, made=None, **given):
        """What a call makes of a copy; the AnnData itself where it does not work."""
        new = adata.copy()
        before = taken(new)
        if call in (tl.select_path,):
            answer = answered(call, new, *args, warned=[ad.ImplicitModificationWarning], **given)
            assert_untouched(new, before)
            new = answer.result if answer.worked else new
        else:
            answer = answered(call, new, *args, warned=[ad.ImplicitModificationWarning], **given)
            if not answer.worked:
                assert_untouched(new, before)
        if made is not None and answer.worked:
            key = given["key"]
            self.made.setdefault((made, self.known(new, key, made)), set()).update(rows_of(MADE[made](new, key)))
        self.fresh(new)
        return new

    @staticmethod
    def known(adata, key, made):
        tree = tree_of(adata, key)
        return tree[:2] if made == "direction" else tree

    def fresh(self, adata):
        """What is given as the order and the results of a tree is that, or nothing is given."""
        for key in KEYS:
            if key not in adata.uns:
                continue
            order = answered(get.ordered, adata, key)
            if order.worked:
                assert_is_of_its_tree(adata, key)
            for made, read in MADE.items():
                answer = answered(read, adata, key)
                if answer.worked:
                    there = self.made.get((made, self.known(adata, key, made)), set())
                    assert rows_of(answer.result) <= there, f"{made} of {key} is of another tree"

    @rule(target=those, adata=those, method=st.sampled_from(KEYS))
    def fit(self, adata, method):
        small = dict(max_iter=5, **QUIET)
        if method in ("ddrtree", "principal_tree", "principal_graph", "ddrtree again"):
            small["n_nodes"] = 9
        if method in ("ddrtree", "principal_tree", "ddrtree again"):
            small["n_starts"] = 1
        return self.done(adata, getattr(tl, method.partition(" ")[0]), key_added=method, **small)

    @rule(
        target=those,
        adata=those,
        key=st.sampled_from(KEYS),
        root=st.sampled_from([None, 0, 3, "T2", {"stage": "stem"}]),
    )
    def order(self, adata, key, root):
        return self.done(adata, tl.order, root, key=key)

    @rule(target=those, adata=those, n=st.integers(0, 60), seed=st.integers(0, 9), view=st.booleans())
    def some_cells(self, adata, n, seed, view):
        some = adata[np.random.default_rng(seed).permutation(adata.n_obs)[:n]]
        return some if view else some.copy()

    @rule(target=those, adata=those, n=st.integers(1, 4))
    def some_genes(self, adata, n):
        return adata[:, ::-1][:, :n].copy()

    @rule(
        target=those,
        a=those,
        b=those,
        join=st.sampled_from(["inner", "outer"]),
        merge=st.sampled_from([None, "same", "unique", "first", "only"]),
    )
    def concat(self, a, b, join, merge):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            both = ad.concat([a, b], join=join, merge=merge, uns_merge=merge)
            both.obs_names_make_unique()
        self.fresh(both)
        return both

    @rule(target=those, adata=those, kind=st.sampled_from(["h5ad", "zarr"]))
    def file(self, adata, kind):
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
            warnings.simplefilter("ignore")
            back = written_and_read(adata.copy(), kind, Path(folder))
        self.fresh(back)
        return back

    @rule(
        target=those, adata=those, key=st.sampled_from(KEYS), how=st.sampled_from([{}, {"n_tips": 2}, {"undo": True}])
    )
    def prune(self, adata, key, how):
        return self.done(adata, tl.prune, key=key, **how)

    @rule(target=those, adata=those, reference=those, key=st.sampled_from(KEYS[:2]))
    def ingest(self, adata, reference, key):
        return self.done(adata, tl.ingest, reference, key=key, **QUIET)

    @rule(target=those, adata=those, key=st.sampled_from(KEYS), branch=st.sampled_from([None, *KEYS]))
    def attach(self, adata, key, branch):
        return self.done(adata, tl.attach, key=key, branch=branch)

    @rule(
        target=those,
        adata=those,
        key=st.sampled_from(KEYS),
        ends=st.sampled_from([("T1", "T2"), ("root", "T3"), (0, 5)]),
    )
    def select_path(self, adata, key, ends):
        return self.done(adata, tl.select_path, *ends, key=key)

    @rule(target=those, adata=those, key=st.sampled_from(KEYS), what=st.sampled_from([*MADE, "trends"]))
    def make(self, adata, key, what):
        given = {
            "composition": dict(groupby="stage", n_permutations=5),
            "association": dict(genes=["gene0", "gene1"]),
            "branch_test": dict(fork="F1", genes=["gene0", "gene1"]),
            "stability": dict(n_replicates=2),
            "survival": dict(time="time", event="event"),
            "direction": dict(score="place", n_permutations=5),
            "trends": dict(genes=["gene0", "gene1"]),
        }[what]
        given |= {} if what == "survival" else QUIET
        return self.done(adata, getattr(tl, what), made=what if what in MADE else None, key=key, **given)

    @rule(adata=those, name=st.sampled_from(READS), key=st.sampled_from(KEYS))
    def read(self, adata, name, key):
        before = taken(adata)
        answered(
            function(name), adata, **(CALLS[name] | {"key": key}), elsewhere=("matplotlib",) if name[0] == "p" else ()
        )
        assert_untouched(adata, before)
        plt.close("all")


def assert_is_of_its_tree(adata, key):
    """Assert, by networkx, that pseudotime is the path length from the root to the cells' places on the stored tree."""
    graph, fit = as_networkx(adata, key), adata.uns[key]
    length = nx.single_source_dijkstra_path_length(graph, int(fit["order"]["root"]))
    np.testing.assert_allclose(
        fit["order"]["node_pseudotime"], [length.get(node, np.nan) for node in range(len(fit["nodes"]))], atol=1e-9
    )
    name = f"{key}_position"
    if name not in adata.obsm:
        return
    place, nodes = adata.obsm[name], fit["nodes"]
    for i in np.flatnonzero(adata.obs[f"{key}_branch"].notna().to_numpy() & place["edge"].notna().to_numpy()):
        a, b = fit["edges"][int(place["edge"].iloc[i])]
        share, long = place["fraction"].iloc[i], np.linalg.norm(nodes[a] - nodes[b])
        expected = min(length.get(a, np.inf) + share * long, length.get(b, np.inf) + (1 - share) * long)
        timed = adata.obs[f"{key}_pseudotime"].iloc[i]
        assert timed == pytest.approx(expected, abs=1e-3 * max(1, long)) or np.isnan(timed), (i, timed, expected)


TestSequences = Sequences.TestCase
TestSequences.settings = settings(
    max_examples=max(3, settings.default.max_examples // 8),
    stateful_step_count=25 if settings.default.max_examples > 100 else 12,
)
