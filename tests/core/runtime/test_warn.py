"""Warnings are at the line of the user who called, whichever way the call takes through the package."""

from __future__ import annotations

import ast
import inspect
import re
import threading
import warnings
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import anndata as ad
import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skeltraj as st
from samples import cells, forked, rings
from skeltraj.core._runtime import compile
from skeltraj.core._runtime.threads import ordered_map
from skeltraj.core._runtime.warn import warn
from tested_genes import cells_on_two_forks as on_two_forks

SOURCE = Path(st.__file__).parent
TREE, SIMILARITIES = st.estimators.DDRTree(max_iter=1, tol=0), st.estimators.MPME(max_iter=2)


def two_groups():
    return np.r_[forked(25)[0], forked(25, seed=1)[0] + 1000]


def two_alike():
    X = np.random.default_rng(0).standard_normal((100, 3))
    X[1] = X[0] + 1e-4
    return X


def ordered_cells():
    adata = cells(40)
    st.tl.ddrtree(adata, 2)
    st.tl.order(adata, root={"stage": "stem"})
    return adata


def two_fits():
    parts = [cells(150, seed=seed, n_features=8) for seed in (0, 1)]
    parts[1].obs_names = [f"other {name}" for name in parts[1].obs_names]
    for part in parts:
        st.tl.ddrtree(part, n_nodes=20, n_starts=1)
    return ad.concat(parts, uns_merge="first")


def one_branch():
    adata = cells(150, n_features=8)
    adata.obsm["X_umap"] = adata.X[:, :2].copy()
    st.tl.ddrtree(adata, n_nodes=20, n_starts=1)
    st.tl.order(adata, root=0)
    return adata[adata.obs["ddrtree_branch"] == "B1"].copy()


def ordered_rings():
    adata = rings(200)
    st.tl.principal_graph(adata, n_nodes=20)
    return partial(st.tl.order, adata, root=0, key="principal_graph")


def cell_called_like_a_tip():
    adata = ordered_cells()
    graph = st.get.graph(adata)
    far = ((adata.obsm["X_ddrtree"] - graph.nodes[graph.tips[0]]) ** 2).sum(axis=1).argmax()
    names = adata.obs_names.to_list()
    names[far] = graph.tip_names[0]
    adata.obs_names = names
    return partial(st.tl.order, adata, root=names[far])


def segment_without_cells():
    adata = ordered_cells()
    branch = adata.obs["ddrtree_branch"]
    return partial(st.get.to_scfates, adata[branch != branch.cat.categories[0]].copy())


def far_cells():
    adata = ordered_cells()
    new = adata.copy()
    new.X = new.X + 50
    return partial(st.tl.ingest, new, adata)


def few_ways():
    adata = ordered_cells()
    adata.obs["donor"] = np.arange(40) % 4
    adata.obs["condition"] = np.where(adata.obs["donor"] % 2, "ill", "well")
    return partial(st.tl.composition, adata, "condition", sample="donor", n_permutations=20)


def grouped_otherwise():
    adata = ordered_cells()
    adata.obs["group"] = np.where(np.arange(40) % 2, "a", "b")
    st.tl.composition(adata, "group", n_permutations=20)
    adata.obs["group"] = np.where(np.arange(40) % 3, "a", "b")
    return partial(st.get.composition, adata, "group")


def of_log_values():
    adata = on_two_forks()
    adata.layers["counts"] = adata.X.copy()
    adata.X = np.log1p(adata.X)
    return partial(st.tl.association, adata, genes=["rise"])


def few_events():
    adata = ordered_cells()
    rng = np.random.default_rng(0)
    adata.obs["time"], adata.obs["event"] = rng.exponential(size=40), np.arange(40) % 10 == 0
    adata.obs["age"] = rng.normal(size=40)
    branches = adata.obs["ddrtree_branch"].value_counts().index[:2]
    return partial(st.tl.survival, adata, "time", "event", covariates=["age"], branches=list(branches))


def few_colors():
    adata = cells(40)
    st.tl.ddrtree(adata, 2)
    adata.obs["nine"] = np.char.add("group ", (np.arange(40) % 9).astype(str))
    return partial(st.pl.graph, adata, color="nine", palette="Set2")


def wide():
    return ad.AnnData(np.random.default_rng(0).standard_normal((20, 501)))


def raw_counts():
    return ad.AnnData(np.random.default_rng(0).negative_binomial(0.3, 0.02, (60, 20)).astype(float))


def full_cache():
    def save(*_):
        raise OSError("No space left on device")

    if compile._warned.locked():  # it warns once
        compile._warned.release()
    cache = SimpleNamespace(load_overload=None, save_overload=save, _cache_file=SimpleNamespace(_source_stamp=0))
    compile._guard_cache(SimpleNamespace(py_func=full_cache, _cache=cache))
    return cache.save_overload


STOPPED = "stopped (after max_iter=1|at max_iter, after 1) rounds"
UNPROVED = "with its maximum not proved"
# the file that warns, a call (made ready by a function), what it says
CASES = {
    "the first call of a kernel": ("core/_runtime/compile.py", full_cache, "compiled code cannot be kept"),
    "tl.order, cells of two fits": (
        "tl/_inputs/cells_of_fit.py",
        lambda: partial(st.tl.order, two_fits(), root=0),
        "If they belong to another fit",
    ),
    "get.nodes_on_basis, some cells": (
        "get/_reading/lost_cells.py",
        lambda: partial(st.get.nodes_on_basis, one_branch(), "umap"),
        "nodes have no cell near them among the",
    ),
    "pl.graph, some cells": (
        "get/_reading/lost_cells.py",
        lambda: partial(st.pl.graph, one_branch(), basis="umap"),
        "nodes have no cell near them among the",
    ),
    "tl.principal_tree, counts": (
        "tl/_inputs/counts.py",
        lambda: partial(st.tl.principal_tree, raw_counts(), n_nodes=10),
        "adata.X looks like raw counts",
    ),
    "core.principal_graph": (
        "core/_methods/principal_graph.py",
        lambda: partial(st.core.principal_graph, forked(60)[0], min_weight=5),
        "no two nodes are joined",
    ),
    "core.principal_graph, many loops": (
        "core/_methods/principal_graph.py",
        lambda: partial(st.core.principal_graph, np.random.default_rng(0).normal(size=(200, 3))),
        "loops among 53 nodes. Where nodes are close together",
    ),
    "tl.principal_graph": (
        "core/_methods/principal_graph.py",
        lambda: partial(st.tl.principal_graph, cells(60), min_weight=5),
        "no two nodes are joined",
    ),
    "PrincipalGraph": (
        "core/_methods/principal_graph.py",
        lambda: partial(st.estimators.PrincipalGraph(min_weight=5).fit, forked(60)[0]),
        "no two nodes are joined",
    ),
    "core.mpme, copies": (
        "core/_methods/mpme.py",
        lambda: partial(st.core.mpme, two_alike()),
        "the same as another",
    ),
    "tl.mpme, copies": (
        "core/_methods/mpme.py",
        lambda: partial(st.tl.mpme, ad.AnnData(two_alike())),
        "the same as another",
    ),
    "core.mpme, parts": (
        "core/_similarity/fit.py",
        lambda: partial(st.core.mpme, two_groups()),
        "50 rows in 2 parts",
    ),
    "core.spl, parts": (
        "core/_similarity/fit.py",
        lambda: partial(st.core.spl, two_groups(), gamma=0),
        "50 rows in 2 parts",
    ),
    "tl.spl, parts": (
        "core/_similarity/fit.py",
        lambda: partial(st.tl.spl, ad.AnnData(two_groups()), gamma=0),
        "50 rows in 2 parts",
    ),
    "SPL, parts": (
        "core/_similarity/fit.py",
        lambda: partial(st.estimators.SPL(gamma=0).fit_transform, two_groups()),
        "50 rows in 2 parts",
    ),
    "core.learn_tree, few tips": (
        "core/_learning/learn_tree.py",
        lambda: partial(st.core.learn_tree, forked(60)[0], n_nodes=20, n_starts=1, prune={"n_tips": 15}),
        "prune={'n_tips': 15}: the tree as it was fitted has",
    ),
    "tl.ddrtree, few tips": (
        "core/_learning/learn_tree.py",
        lambda: partial(st.tl.ddrtree, cells(60), n_nodes=20, n_starts=1, prune={"n_tips": 15}),
        "prune={'n_tips': 15}: the tree as it was fitted has",
    ),
    "tl.ddrtree": (
        "tl/_results/write_fit.py",
        lambda: partial(st.tl.ddrtree, cells(40), max_iter=1, tol=0),
        STOPPED,
    ),
    "tl.drtree": (
        "tl/_results/write_fit.py",
        lambda: partial(st.tl.drtree, cells(40), max_iter=1, tol=0),
        STOPPED,
    ),
    "tl.principal_tree": (
        "tl/_results/write_fit.py",
        lambda: partial(st.tl.principal_tree, cells(40), max_iter=1, tol=0),
        STOPPED,
    ),
    "tl.principal_graph, stopped": (
        "tl/_results/write_fit.py",
        lambda: partial(st.tl.principal_graph, cells(40), max_iter=1, tol=0),
        STOPPED,
    ),
    "tl.mpme": ("tl/_results/write_fit.py", lambda: partial(st.tl.mpme, cells(40), max_iter=2), UNPROVED),
    "tl.spl": ("tl/_results/write_fit.py", lambda: partial(st.tl.spl, cells(40), max_iter=2), UNPROVED),
    "tl.principal_tree, wide": (
        "tl/_inputs/pick.py",
        lambda: partial(st.tl.principal_tree, wide()),
        "adata.X has 501 columns",
    ),
    "tl.principal_graph, wide": (
        "tl/_inputs/pick.py",
        lambda: partial(st.tl.principal_graph, wide(), n_nodes=4),
        "adata.X has 501 columns",
    ),
    "tl.order, no root": ("tl/_order.py", lambda: partial(st.tl.order, ordered_cells()), "No root was given"),
    "tl.order, parts": ("tl/_order.py", ordered_rings, "have no pseudotime"),
    "tl.order, cell and tip": ("tl/_inputs/root.py", cell_called_like_a_tip, "names a cell and a tip"),
    "tl.ingest": ("tl/_ingest.py", far_cells, "are unlike the reference"),
    "tl.composition": ("tl/_composition.py", few_ways, "there are only 6 ways"),
    "get.composition": ("get/_composition.py", grouped_otherwise, "have other numbers of cells"),
    "tl.association": (
        "tl/_association.py",
        lambda: partial(st.tl.association, on_two_forks()),
        "have the same value",
    ),
    "tl.trends": ("tl/_trends.py", lambda: partial(st.tl.trends, on_two_forks()), "have the same value"),
    "tl.branch_test": (
        "tl/_branch_test.py",
        lambda: partial(st.tl.branch_test, on_two_forks(), "F1"),
        "have the same value",
    ),
    "tl.association, X": ("tl/_inputs/tested_genes.py", of_log_values, "does not hold counts"),
    "tl.survival": ("core/_survival/survival.py", few_events, "events"),
    "get.to_scfates": ("get/_to_scfates.py", segment_without_cells, "No cell lies on segment"),
    "pl.graph": ("pl/_drawing/values.py", few_colors, "has 8 colour.* for 9 groups"),
    "DDRTree.fit": ("estimators/_bases/skeleton.py", lambda: partial(TREE.fit, forked(40)[0]), STOPPED),
    "DDRTree.fit_transform": (
        "estimators/_bases/skeleton.py",
        lambda: partial(TREE.fit_transform, forked(40)[0]),
        STOPPED,
    ),
    "DDRTree in a pipeline": (
        "estimators/_bases/skeleton.py",
        lambda: partial(make_pipeline(StandardScaler(), TREE).fit_transform, forked(40)[0]),
        STOPPED,
    ),
    "TreeLearner.fit": (
        "estimators/_tree_learner.py",
        lambda: partial(st.estimators.TreeLearner().fit, np.random.default_rng(3).standard_normal((90, 8))),
        "do not settle the tree",
    ),
    "TreeLearner.fit, counts": (
        "estimators/_tree_learner.py",
        lambda: partial(
            st.estimators.TreeLearner(n_starts=1, prune=False).fit,
            np.random.default_rng(0).negative_binomial(0.3, 0.02, (60, 8)),
        ),
        "looks like raw counts",
    ),
    "MPME.fit": ("estimators/_bases/similarity.py", lambda: partial(SIMILARITIES.fit, forked(40)[0]), UNPROVED),
    "MPME in a pipeline": (
        "estimators/_bases/similarity.py",
        lambda: partial(make_pipeline(StandardScaler(), SIMILARITIES).fit_transform, forked(40)[0]),
        UNPROVED,
    ),
}


def warned(call):
    """Message, category and place of each warning of a call, and the line of the call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = inspect.currentframe().f_lineno + 1
        call()
    return [(str(warning.message), warning.category, (warning.filename, warning.lineno)) for warning in caught], line


@pytest.mark.parametrize("name", CASES)
def test_a_warning_is_at_the_line_that_called(name):
    file, ready, message = CASES[name]
    said, line = warned(ready())
    category = ConvergenceWarning if file.startswith("estimators/_bases") else UserWarning
    assert [what[1:] for what in said if re.search(message, what[0])] == [(category, (__file__, line))]


def test_every_file_that_warns_has_a_case():
    calls = {
        path.relative_to(SOURCE).as_posix()
        for path, tree in parsed()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "warn"
    }
    assert calls == {file for file, _, _ in CASES.values()}


def test_nothing_warns_in_another_way():
    others = []
    for path, tree in parsed():
        for node in ast.walk(tree):
            if (
                (isinstance(node, ast.Attribute) and node.attr in ("warn", "warn_explicit"))
                or (isinstance(node, ast.ImportFrom) and node.module == "warnings")
                or (isinstance(node, ast.keyword) and node.arg in ("stacklevel", "skip_file_prefixes"))
            ):
                others.append(path.relative_to(SOURCE).as_posix())
    assert others == ["core/_runtime/warn.py"]  # its own call


def parsed():
    return [(path, ast.parse(path.read_text(encoding="utf-8"))) for path in sorted(SOURCE.rglob("*.py"))]


def test_joblib_stands_between_as_the_package_does():
    tasks = [delayed(st.core.principal_graph)(forked(60)[0], min_weight=5)]
    said, line = warned(partial(Parallel(n_jobs=1), tasks))
    assert [place for _, _, place in said] == [(__file__, line)]


def test_a_thread_of_the_package_warns_at_the_line_that_waits_for_it(monkeypatch):
    monkeypatch.setattr("skeltraj.core._runtime.threads.n_threads", lambda: 2)
    said, line = warned(partial(ordered_map, warn, ["one", "two"]))
    assert sorted(said) == [("one", UserWarning, (__file__, line)), ("two", UserWarning, (__file__, line))]


def test_a_callback_of_the_user_in_a_thread_has_a_line_of_its_own(monkeypatch):
    monkeypatch.setattr("skeltraj.core._runtime.threads.n_threads", lambda: 2)
    threads, both = set(), threading.Barrier(2)

    def callback(message):
        threads.add(threading.current_thread())
        both.wait(60)
        warn(message)

    said, _ = warned(partial(ordered_map, callback, ["one", "two"]))
    line = callback.__code__.co_firstlineno + 3
    assert [place for _, _, place in said] == [(__file__, line)] * 2
    assert len(threads) == 2


def test_a_thread_without_a_line_of_the_user_still_warns():
    thread = threading.Thread(target=warn, args=["alone"])

    def run():
        thread.start()
        thread.join()

    said, _ = warned(run)
    assert [(message, filename) for message, _, (filename, _) in said] == [("alone", threading.__file__)]


def test_a_filter_shows_a_line_once_as_for_any_warning():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            warn("said three times at one line")
    assert len(caught) == 1
