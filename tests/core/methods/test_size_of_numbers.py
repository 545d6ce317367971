"""Numbers of any size: a power of two scales the result, or the error says what range is taken."""

from __future__ import annotations

import numpy as np
import pytest

from samples import forked
from skeltraj import core

EXACT = ["ddrtree", "drtree", "principal_tree", "principal_graph"]


@pytest.mark.filterwarnings("ignore:the similarities leave:UserWarning")
@pytest.mark.parametrize("method", [*EXACT, "mpme", "spl"])
@pytest.mark.parametrize("k", [-160, -90, 60, 160])
def test_a_power_of_two_scales_the_result(method, k):
    X = forked(60)[0]
    fit = getattr(core, method)
    a, b = fit(X, max_iter=5), fit(X * 2.0**k, max_iter=5)
    if method in EXACT:
        np.testing.assert_array_equal(b.nodes, a.nodes * 2.0**k)
        np.testing.assert_array_equal(b.objective, a.objective * 4.0**k)
        np.testing.assert_array_equal(b.edges, a.edges)
    else:
        assert np.isfinite(b.embedding).all()


@pytest.mark.parametrize("k", [-160, -90, 60, 160])
def test_denoised_rows_and_places_are_scaled(k):
    X = forked(60)[0]
    a, b = core.denoise(X), core.denoise(X * 2.0**k)
    np.testing.assert_allclose(b.values, a.values * 2.0**k, rtol=1e-6, atol=1e-9 * 2.0**k)
    tree = core.principal_tree(X).graph
    scaled = core.Graph(tree.nodes * 2.0**k, tree.edges)
    p, q = core.locate(tree, X), core.locate(scaled, X * 2.0**k)
    np.testing.assert_array_equal(q.edge, p.edge)
    np.testing.assert_array_equal(q.distance, p.distance * 2.0**k)


@pytest.mark.parametrize("k", [-90, 60, 160])
def test_similarities_go_with_the_units(k):
    X = forked(60)[0]
    a, b = core.mpme(X, max_iter=5), core.mpme(X * 2.0**k, max_iter=5)
    np.testing.assert_array_equal(b.edges, a.edges)
    np.testing.assert_allclose(b.weights * 4.0**k, a.weights, rtol=1e-6)
    a, b = core.spl(X, max_iter=5), core.spl(X * 2.0**k, scale=2.0**k, max_iter=5)
    np.testing.assert_array_equal(b.weights, a.weights)
    np.testing.assert_array_equal(b.embedding, a.embedding)


@pytest.mark.compiled("takes minutes")
@pytest.mark.parametrize("k", [-160, 60, 160])
def test_what_follows_a_fit_goes_with_the_units(k):
    unit, X = 2.0**k, forked(90)[0]
    close = dict(rtol=1e-9, atol=1e-12)
    a, b = core.learn_tree(X, n_starts=1), core.learn_tree(X * unit, n_starts=1)
    np.testing.assert_allclose(b.nodes / unit, a.nodes, **close)
    np.testing.assert_allclose(b.transform(X[:9] * unit) / unit, a.transform(X[:9]), **close)
    graph, scaled = a.graph, core.Graph(a.nodes * unit, a.edges)
    points, data = a.embedding, a.fit.in_node_space(X)
    p, q = core.prune(graph, points, data), core.prune(scaled, points * unit, data * unit)
    np.testing.assert_array_equal(q.graph.nodes, p.graph.nodes * unit)
    root = int(graph.tips[0])
    p, q = core.order(graph, points, root), core.order(scaled, points * unit, root)
    np.testing.assert_array_equal(q.pseudotime, p.pseudotime * unit)
    np.testing.assert_array_equal(q.branch, p.branch)
    p, q = (core.nodes_on(g, a.assignment, x) for g, x in ((graph, X), (scaled, X * unit)))
    np.testing.assert_allclose(q / unit, p, **close)
    p, q = (core.smooth_on(g, a.assignment, x).courses for g, x in ((graph, X), (scaled, X * unit)))
    np.testing.assert_allclose(q / unit, p, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("fit", ["ddrtree", "drtree"])
@pytest.mark.parametrize("k", [-440, 440])
def test_these_need_only_squares(fit, k):
    X = forked(60)[0]
    a, b = getattr(core, fit)(X, max_iter=5), getattr(core, fit)(X * 2.0**k, max_iter=5)
    close = dict(rtol=1e-9, atol=1e-12 * 2.0**k)  # beyond the range of the others rounding differs
    np.testing.assert_allclose(b.nodes, a.nodes * 2.0**k, **close)
    np.testing.assert_allclose(b.transform(X * 2.0**k), a.transform(X) * 2.0**k, **close)
    np.testing.assert_allclose(b.graph.edge_length, a.graph.edge_length * 2.0**k, **close)


@pytest.mark.parametrize(
    ("fit", "k"),
    [
        *(
            (fit, k)
            for fit in ("denoise", "principal_tree", "principal_graph", "mpme", "spl")
            for k in (-300, -180, 180)
        ),
        *((fit, k) for fit in ("denoise", *EXACT, "mpme", "spl") for k in (-900, 900)),
    ],
)
def test_what_is_out_of_range_is_named(fit, k):
    reach = "145" if fit in ("ddrtree", "drtree") else "50"
    with pytest.raises(ValueError, match=rf"X: its largest entry is .* in size; wanted from 1e-{reach} to 1e\+{reach}"):
        getattr(core, fit)(forked(60)[0] * 2.0**k)


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_coordinates_out_of_range_are_named(size):
    with pytest.raises(ValueError, match="nodes: the largest coordinate is"):
        core.Graph([[0, 0], [size, 0]], [[0, 1]])
    if size > 1:
        with pytest.raises(ValueError, match="points: the largest coordinate is"):
            core.locate(core.Graph([[0, 0], [1, 0]], [[0, 1]]), [[size, 0]])
