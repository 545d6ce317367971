"""Support of parts of a tree: what varies; the order of the points and threads; errors."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from samples import recipe
from skeltraj import core
from skeltraj.core._learning import stability
from skeltraj.core._runtime import threads


def fields(result):
    return {name: value for name, value in vars(result).items() if name != "consensus"} | {
        "nodes": result.consensus.nodes,
        "edges": result.consensus.edges,
    }


def run(learned, keep=slice(None), **more):
    X, _, made = learned
    graph = made.fit.graph
    options = dict(root=int(graph.tips[0]), n_replicates=4) | more
    return core.stability(graph, made.fit.embedding[keep], X[keep], recipe(), **options)


@pytest.mark.compiled("takes minutes")
@pytest.mark.parametrize("vary", [("cells",), ("rng",), ("sigma", "lam", "n_nodes", "rng", "cells")])
def test_neither_the_order_of_the_points_nor_threads_matter(learned, vary, monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 1)
    alone = fields(run(learned, vary=vary))
    monkeypatch.setattr(threads, "n_threads", lambda: 3)
    shuffle = np.random.default_rng(1).permutation(250)
    together = fields(run(learned, shuffle, vary=vary))
    assert set(alone) == set(together)
    for name, value in alone.items():
        of_points = name in ("pseudotime_sd", "branch_probability")
        np.testing.assert_array_equal(together[name], value[shuffle] if of_points else value, err_msg=name)
    other = run(learned, vary=vary, rng=1)
    assert (other.pseudotime_sd != alone["pseudotime_sd"]).any()


@pytest.mark.compiled("ten replicates")
@pytest.mark.parametrize(("rows", "at_once"), [(250, 2), (249, 5)])
def test_of_few_rows_not_all_threads_make_replicates(learned, rows, at_once, monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 5)
    monkeypatch.setattr(stability, "_MOST_THREADS", 2)
    monkeypatch.setattr(stability, "_FEW_ROWS", rows)
    made_by = set()
    together = threading.Barrier(at_once)
    learn = stability.Recipe.learn

    def watched(*given):
        made_by.add(threading.get_ident())
        together.wait(60)
        return learn(*given)

    monkeypatch.setattr(stability.Recipe, "learn", watched)
    run(learned, n_replicates=2 * at_once)
    assert len(made_by) == at_once


def test_only_what_varies_differs(learned):
    result = run(learned, vary=("n_nodes",), n_replicates=2)
    assert result.pseudotime_sd.max() > 0


@pytest.mark.parametrize("vary", [("cells",), ("sigma",)])
def test_rows_that_were_drawn_are_placed_as_they_were_denoised_others_anew(learned, vary, monkeypatch):
    X, _, _ = learned
    rng = np.random.default_rng(5)
    counts = np.bincount(rng.integers(250, size=250), minlength=250)
    counts = counts if "cells" in vary else np.ones(250, dtype=int)
    made = recipe().varied(vary, 250, rng).learn(X, counts, 0)
    expected = made.place(X)
    anew = []
    transform = core.Denoised.transform
    monkeypatch.setattr(core.Denoised, "transform", lambda self, X: (anew.append(len(X)), transform(self, X))[1])
    graph, places = stability._learned_again(X, recipe(), vary, np.random.default_rng(5))
    assert sum(anew) == (counts == 0).sum()
    np.testing.assert_array_equal(graph.nodes, made.fit.graph.nodes)
    np.testing.assert_allclose(places, expected, atol=1e-12)


def test_errors(learned):
    X, _, made = learned
    graph, points = made.fit.graph, made.fit.embedding
    for more, kind, message in (
        (dict(n_replicates=1), ValueError, "n_replicates=1 is out of range; wanted a whole number from 2 to"),
        (dict(vary="cells"), TypeError, r"vary='cells' is a str; wanted a tuple"),
        (dict(vary=()), ValueError, "vary is empty; wanted some of"),
        (dict(vary=("cell",)), ValueError, r"vary='cell' is not known. Available: \['cells', 'sigma'"),
        (dict(root=1000), ValueError, "root=1000 is not a node; wanted a number from 0 to"),
    ):
        with pytest.raises(kind, match=message):
            core.stability(graph, points, X, recipe(), **(dict(root=0) | more))
    with pytest.raises(ValueError, match="vary holds 'sigma', but the tree was fitted with assignment='hard'"):
        core.stability(graph, points, X, recipe(assignment="hard", sigma=0.0), root=0, vary=("sigma",))
    with pytest.raises(ValueError, match="X has 249 rows for 250 points"):
        core.stability(graph, points, X[1:], recipe(), root=0)
    parts = core.Graph(graph.nodes, graph.edges[1:])
    with pytest.raises(ValueError, match=r"the skeleton has 0 loop\(s\) and 2 part\(s\); wanted one tree"):
        core.stability(parts, points, X, recipe(), root=0)
