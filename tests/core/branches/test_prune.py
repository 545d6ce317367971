"""Pruning: the gain against its definition, and trees of known answer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import oracles
from skeltraj import core

# a stem 0 - 1 - 2, a long arm 2 - 3 - 4, another 2 - 5, and a spur 1 - 6
NODES = np.array([[0.0, 0], [2, 0], [4, 0], [6, 1], [8, 2], [6, -2], [2, 0.4]])
EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [2, 5], [1, 6]])


def scattered(noise=0.3, n=40, spur=6, seed=0):
    """Points along the edges, few of them on the spur, and where they were measured."""
    rng = np.random.default_rng(seed)
    points = []
    for i, (a, b) in enumerate(EDGES):
        t = rng.random(spur if i == 5 else n)[:, None]
        points.append(NODES[a] + t * (NODES[b] - NODES[a]))
    points = np.concatenate(points)
    return points, points + noise * rng.standard_normal(points.shape)


def in_dimensions(d, *coordinates):
    """The same turned into `d` dimensions, the nodes bent a little into all of them."""
    rng = np.random.default_rng(4)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0][:2]
    return [array @ turn for array in coordinates], 0.05 * rng.standard_normal((len(NODES), d))


@pytest.mark.parametrize("d", [2, 3, 4, 7])
def test_the_gain_is_the_one_defined(d):
    points, data = scattered()
    nodes = NODES
    if d > 2:
        (nodes, points, data), bent = in_dimensions(d, NODES, points, data)
        nodes = nodes + bent
        data = data + 0.3 * np.random.default_rng(1).standard_normal(data.shape)
    pruned = core.prune(core.Graph(nodes, EDGES), points, data, min_gain=1e9)
    first = pruned.removed[0]
    assert (first.what, first.start, first.end) == ("branch", 6, 1)
    assert first.gain == pytest.approx(oracles.gain(nodes, EDGES, [[1, 6]], data), rel=1e-8)
    assert first.length == pytest.approx(np.linalg.norm(nodes[6] - nodes[1]))
    # then each of the others, without the spur
    left = EDGES[:5]
    second = pruned.removed[1]
    options = {
        (0, 2): oracles.gain(nodes, left, [[0, 1], [1, 2]], data),
        (4, 2): oracles.gain(nodes, left, [[2, 3], [3, 4]], data),
        (5, 2): oracles.gain(nodes, left, [[2, 5]], data),
    }
    assert (second.start, second.end) == min(options, key=options.get)
    assert second.gain == pytest.approx(min(options.values()), rel=1e-8)
    assert len(pruned.graph.tips) == 2  # a line has no branch to lose
    assert len(pruned.removed) == 2


@pytest.mark.parametrize("d", [2, 4])
def test_what_is_kept_has_the_gain_that_it_would_go_with(d):
    points, data = scattered(noise=0.1, spur=40)
    nodes = NODES
    if d > 2:
        (nodes, points, data), bent = in_dimensions(d, NODES, points, data)
        nodes = nodes + bent
    pruned = core.prune(core.Graph(nodes, EDGES), points, data, min_gain=0)
    assert not pruned.removed
    graph, kept = pruned.graph, pruned.kept
    assert [one.gain for one in kept] == sorted(one.gain for one in kept)
    # one for each tip that is not beyond a line: the stem's, the two arms', the spur's
    assert sorted(graph.nodes[[one.start for one in kept]].tolist()) == sorted(nodes[[0, 4, 5, 6]].tolist())
    for one in kept:
        path = graph.path(one.start, one.end)
        assert graph.degree[[one.start, one.end]].tolist() == [1, 3]
        assert one.length == pytest.approx(graph.edge_length[graph.edges_along(path)].sum())
        gone = [graph.edges[edge].tolist() for edge in graph.edges_along(path)]
        assert one.gain == pytest.approx(oracles.gain(graph.nodes, graph.edges, gone, data), rel=1e-8)
    # a limit just above the smallest takes that branch out, and just below it none
    least = kept[0]
    assert not core.prune(core.Graph(nodes, EDGES), points, data, min_gain=0.999 * least.gain).removed
    above = core.prune(core.Graph(nodes, EDGES), points, data, min_gain=1.001 * least.gain)
    assert above.removed[0].gain == least.gain
    assert above.removed[0].n_points == least.n_points


def test_what_is_kept_is_numbered_as_in_the_tree_that_is_left():
    points, data = scattered()
    pruned = core.prune(core.Graph(NODES, EDGES), points, data, min_gain=0.05)
    assert [removal.start for removal in pruned.removed] == [6]
    assert {tuple(pruned.graph.nodes[one.start]) for one in pruned.kept} == {tuple(NODES[i]) for i in (0, 4, 5)}
    line = core.prune(core.Graph(NODES, EDGES), points, data, min_gain=1e9)
    assert line.kept == ()


def test_branches_that_follow_the_noise_go_though_the_points_on_them_fit():
    """Nodes at the means of points that lie off a line in the same direction: the points were chosen by their noise."""
    rng = np.random.default_rng(0)
    data = 0.3 * rng.standard_normal((4000, 10))
    data[:, 0] += np.linspace(0, 10, 4000)
    nodes, edges = [np.zeros(10)], []
    for i in range(1, 11):
        nodes.append(np.eye(10)[0] * i)
        edges.append([i - 1, i])
    for at, direction in ((3, 1), (5, 4), (8, 7)):
        near = (np.abs(data[:, 0] - at) < 0.9) & (data[:, direction] > 0.3)
        nodes.append(data[near].mean(axis=0))
        edges.append([at, len(nodes) - 1])
    nodes = np.array(nodes)
    pruned = core.prune(core.Graph(nodes, np.array(edges)), data, data, min_gain=5e-4)
    assert len(pruned.removed) == 3
    assert max(removal.gain for removal in pruned.removed) < 4e-4
    # the coordinates that place the points speak for them
    away = [oracles.held_out_distance(nodes, some, data, np.eye(10), np.eye(10)) for some in (edges, edges[:-1])]
    assert away[1] / away[0] - 1 > 1.5e-3


def test_a_spur_goes_and_arms_stay():
    points, data = scattered()
    pruned = core.prune(core.Graph(NODES, EDGES), points, data)
    assert [(r.what, r.start, r.end) for r in pruned.removed] == [("branch", 6, 1)]
    np.testing.assert_array_equal(pruned.graph.nodes, NODES[:6])
    np.testing.assert_array_equal(pruned.graph.edges, EDGES[:5])
    np.testing.assert_array_equal(pruned.place, [0, 1, 2, 3, 4, 5, -1])


def test_little_noise_or_many_points_keep_it():
    points, data = scattered(noise=0.01)
    assert core.prune(core.Graph(NODES, EDGES), points, data).removed == ()
    points, data = scattered(spur=400)
    assert core.prune(core.Graph(NODES, EDGES), points, data).removed == ()
    points, _ = scattered()
    assert core.prune(core.Graph(NODES, EDGES), points, points, min_gain=0).removed == ()


def test_in_noise_alone_the_rule_takes_spurs_off_a_line():
    """A straight line with a spur drawn to the points that lie farthest off on one side goes, in most draws."""
    kept = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        data = np.column_stack([10 * rng.random(300), 0.3 * rng.standard_normal((300, 2))])
        near = np.abs(data[:, 0] - 5) < 1
        up = data[near & (data[:, 1] > 0.2)].mean(axis=0)
        nodes = np.array([[0.0, 0, 0], [up[0], 0, 0], [10, 0, 0], up])
        pruned = core.prune(core.Graph(nodes, np.array([[0, 1], [1, 2], [1, 3]])), data, data)
        kept += not pruned.removed
    assert kept <= 10, kept  # places and errors from the same noise: the hardest case


def test_forks_that_cannot_be_told_apart_become_one():
    nodes = np.array([[0.0, 0], [3, 0], [3.3, 0], [3.6, 0], [6, 2], [6, -2], [3, 4]])
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [3, 5], [1, 6]])
    rng = np.random.default_rng(0)
    ends = [(0, 1), (3, 4), (3, 5), (1, 6), (1, 3)]
    points = np.concatenate([nodes[a] + rng.random((30, 1)) * (nodes[b] - nodes[a]) for a, b in ends])
    graph = core.Graph(nodes, edges)
    assert core.prune(graph, points, points, resolution=0.5).removed == ()
    pruned = core.prune(graph, points, points, resolution=0.7)
    [removal] = pruned.removed
    assert (removal.what, {removal.start, removal.end}) == ("forks", {1, 3})
    assert removal.length == pytest.approx(0.6)
    assert np.isnan(removal.gain)
    assert removal.n_points == 30
    np.testing.assert_array_equal(pruned.place, [0, 1, 1, 1, 2, 3, 4])
    assert len(pruned.graph.forks) == 1
    np.testing.assert_allclose(pruned.graph.nodes[1], [3.3, 0])
    assert pruned.graph.is_tree
    assert len(pruned.graph.tips) == 4
    # weights of the three nodes go to the one
    R = sparse.csr_matrix(np.array([[0.1, 0.2, 0.3, 0.4, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1.0]]))
    np.testing.assert_allclose(pruned.assignment(R, points[:2]).toarray(), [[0.1, 0.9, 0, 0, 0], [0, 0, 0, 0, 1]])


@pytest.mark.parametrize("d", [2, 4])
def test_so_many_tips_are_left_as_asked_for(d):
    points, data = scattered()
    nodes = NODES
    if d > 2:
        (nodes, points, data), bent = in_dimensions(d, NODES, points, data)
        nodes = nodes + bent
    graph = core.Graph(nodes, EDGES)
    line = core.prune(graph, points, data, min_gain=1e9)
    assert line.removed[0].gain < 0 < line.removed[1].gain
    for n_tips, n_gone in ((2, 2), (3, 1), (4, 0), (9, 0)):
        pruned = core.prune(graph, points, data, n_tips=n_tips)
        assert len(pruned.graph.tips) == min(n_tips, 4)
        assert pruned.removed == line.removed[:n_gone]
        if n_tips > 3:
            assert pruned.min_gain == 0  # of limits the one that leaves most; the spur has less
            continue
        # the limit that is told leaves as many, since gains rise
        again = core.prune(graph, points, data, min_gain=pruned.min_gain)
        assert again.removed == pruned.removed
        np.testing.assert_array_equal(again.place, pruned.place)
        assert again.kept == pruned.kept


def test_the_limit_that_is_told_lies_between_what_went_and_what_stayed():
    points, data = scattered()
    graph = core.Graph(NODES, EDGES)
    pruned = core.prune(graph, points, data, n_tips=3)
    assert max(0, pruned.removed[0].gain) < pruned.min_gain < pruned.kept[0].gain
    line = core.prune(graph, points, data, n_tips=2)
    assert line.min_gain > max(removal.gain for removal in line.removed)
    # without noise gains have no end, but the limit is a number
    line = core.prune(graph, NODES, NODES, n_tips=2)
    assert np.isfinite(line.min_gain)
    assert core.prune(graph, points, data, min_gain=0.07).min_gain == 0.07


def test_the_units_do_not_matter_to_how_many_tips_are_left():
    points, data = scattered()
    first = core.prune(core.Graph(NODES, EDGES), points, data, n_tips=3)
    second = core.prune(core.Graph(100 * NODES, EDGES), 100 * points, 100 * data, n_tips=3)
    np.testing.assert_array_equal(first.place, second.place)
    assert second.min_gain == pytest.approx(first.min_gain)


def two_forks(apart, n=60, noise=0.3, seed=0):
    """A stem, an arm that leaves it, and two at its end, 1.4 farther; of points, all so far `apart`."""
    rng = np.random.default_rng(seed)
    arms = np.array([[3.6, 5, 1, 0], [8, 2, 3, 1], [8, -2, -3, 1]])
    forks = lambda apart: [np.array([4.3 + by * apart / 2, 0, 0, 0]) for by in (-1, 1)]
    (first, last), stem = forks(apart), np.zeros(4)
    ends = [(stem, last), (first, arms[0]), (last, arms[1]), (last, arms[2])]
    points = np.concatenate([a + rng.random((n, 1)) * (b - a) for a, b in ends])
    nodes = np.vstack([stem, *forks(1.4), arms])
    edges = np.array([[0, 1], [1, 2], [1, 3], [2, 4], [2, 5]])
    return nodes, edges, points, points + noise * rng.standard_normal(points.shape)


def test_forks_whose_order_the_data_do_not_tell_become_one():
    gains = {}
    for apart in (1.4, 0.0):  # as in the tree, or all at one fork
        nodes, edges, points, data = two_forks(apart)
        graph = core.Graph(nodes, edges)
        for resolution in (0, 0.2):  # too far apart for these to be asked
            assert core.prune(graph, points, data, n_tips=4, resolution=resolution).removed == ()
        pruned = core.prune(graph, points, data, n_tips=4, resolution=0.5)
        gains[apart] = oracles.gain_of_order(nodes, edges, [1, 2], data)
        assert len(pruned.graph.tips) == 4
        if apart:
            assert pruned.removed == ()
            continue
        [removal] = pruned.removed
        assert (removal.what, {removal.start, removal.end}) == ("forks", {1, 2})
        assert removal.gain == pytest.approx(gains[apart], abs=1e-12)
        assert removal.length == pytest.approx(1.4)
        np.testing.assert_allclose(pruned.graph.nodes[1], [4.3, 0, 0, 0])
        np.testing.assert_array_equal(pruned.place, [0, 1, 1, 2, 3, 4])
    assert gains[1.4] > 0.01
    assert gains[0.0] < 0


def test_assignment_to_what_is_left():
    points, data = scattered()
    pruned = core.prune(core.Graph(NODES, EDGES), points, data)
    R = sparse.csr_matrix(np.array([[0, 0.5, 0, 0, 0, 0, 0.5], [0, 0, 0, 0, 0, 0, 1.0], [0.25, 0.75, 0, 0, 0, 0, 0]]))
    at = np.array([[2, 0.2], [1.7, 0.3], [1, 0]])
    expected = [[0, 1, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0.25, 0.75, 0, 0, 0, 0]]
    left = pruned.assignment(R, at)
    np.testing.assert_allclose(left.toarray(), expected)
    assert left.has_sorted_indices


def test_the_order_of_the_points_and_the_numbers_of_the_nodes_do_not_matter():
    points, data = scattered()
    rng = np.random.default_rng(5)
    order, number = rng.permutation(len(points)), rng.permutation(7)
    nodes = np.empty_like(NODES)
    nodes[number] = NODES
    first = core.prune(core.Graph(NODES, EDGES), points, data, min_gain=10)
    second = core.prune(core.Graph(nodes, number[EDGES]), points[order], data[order], min_gain=10)
    assert [(r.what, r.n_points) for r in first.removed] == [(r.what, r.n_points) for r in second.removed]
    for one, other in zip(first.removed, second.removed, strict=True):
        assert one.gain == pytest.approx(other.gain, rel=1e-9)
    assert [number[r.start] for r in first.removed] == [r.start for r in second.removed]
    again = core.prune(core.Graph(NODES, EDGES), points[order], data[order], min_gain=10)
    assert again.removed == first.removed


@pytest.mark.parametrize("d", [2, 6])
def test_neither_units_nor_rotations_matter(d):
    points, data = scattered()
    (nodes, points, data), bent = in_dimensions(d, NODES, points, data)
    nodes = nodes + bent
    turn = np.linalg.qr(np.random.default_rng(9).standard_normal((d, d)))[0]
    first = core.prune(core.Graph(nodes, EDGES), points, data, min_gain=10)
    second = core.prune(
        core.Graph(100 * nodes @ turn + 3, EDGES), 100 * points @ turn + 3, 100 * data @ turn + 3, min_gain=10
    )
    assert len(first.removed) > 0
    for one, other in zip(first.removed, second.removed, strict=True):
        assert (one.start, one.end) == (other.start, other.end)
        assert one.gain == pytest.approx(other.gain, rel=1e-6)


UP = np.array([0, 20])


def test_several_trees():
    points, data = scattered()
    nodes = np.vstack([NODES, NODES + UP])
    edges = np.vstack([EDGES, EDGES + 7])
    both, measured = np.vstack([points, points + UP]), np.vstack([data, data + UP])
    pruned = core.prune(core.Graph(nodes, edges), both, measured)
    assert sorted(r.start for r in pruned.removed) == [6, 13]
    assert pruned.graph.component.max() == 1
    assert pruned.graph.n_nodes == 12


def test_points_on_the_nodes_without_noise():
    pruned = core.prune(core.Graph(NODES, EDGES), NODES, NODES)
    assert pruned.removed == ()  # no noise at all: everything is described
    empty = core.prune(core.Graph(NODES, EDGES), NODES[:6], NODES[:6])
    assert [r.start for r in empty.removed] == [6]  # nothing lies on the spur


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        (dict(min_gain=-1), ValueError, "min_gain=-1 is out of range; wanted a number >= 0"),
        (dict(n_tips=1), ValueError, "n_tips=1 is out of range; wanted a whole number from 2 up"),
        (dict(n_tips=2.5), TypeError, "n_tips=2.5 is a float; wanted a whole number from 2 up"),
        (dict(resolution="auto"), TypeError, "resolution='auto' is a str; wanted a number >= 0"),
        (dict(data=np.zeros((3, 2))), ValueError, r"points have shape .* and data \(3, 2\); wanted \("),
        (dict(points=np.full((206, 2), np.nan)), ValueError, "points holds 412 value"),
        (dict(graph=core.Graph(NODES[:3], np.array([[0, 1], [1, 2], [2, 0]]))), ValueError, r"1 loop\(s\); wanted a t"),
    ],
)
def test_errors(change, kind, message):
    points, data = scattered()
    given = dict(graph=core.Graph(NODES, EDGES), points=points, data=data) | change
    with pytest.raises(kind, match=message):
        core.prune(given.pop("graph"), given.pop("points"), given.pop("data"), **given)


@pytest.mark.parametrize("d", [2, 5])
def test_a_point_that_counts_more_than_once_is_as_good_as_given_as_often(d):
    points, data = scattered()
    nodes = NODES
    if d > 2:
        (nodes, points, data), bent = in_dimensions(d, NODES, points, data)
        nodes = nodes + bent
    graph, counts = core.Graph(nodes, EDGES), np.random.default_rng(2).integers(1, 5, len(points))
    often = np.repeat(np.arange(len(points)), counts)
    one = core.prune(graph, points, data, min_gain=0.05, resolution=0.1, counts=counts)
    other = core.prune(graph, points[often], data[often], min_gain=0.05, resolution=0.1)
    once = core.prune(graph, points, data, min_gain=0.05, resolution=0.1)
    assert one.removed
    assert one.kept
    for mine, theirs in zip((*one.removed, *one.kept), (*other.removed, *other.kept), strict=True):
        assert (mine.start, mine.end, mine.n_points) == (theirs.start, theirs.end, theirs.n_points)
        assert mine.gain == pytest.approx(theirs.gain, rel=1e-10)
    assert [kept.gain for kept in one.kept] != pytest.approx([kept.gain for kept in once.kept], rel=1e-3)


def test_counts_are_checked():
    points, data = scattered()
    graph = core.Graph(NODES, EDGES)
    with pytest.raises(ValueError, match="counts is of shape"):
        core.prune(graph, points, data, counts=np.ones(3))
    with pytest.raises(ValueError, match="counts: 1 of 206 are out of range, such as 0"):
        core.prune(graph, points, data, counts=np.r_[0, np.ones(len(points) - 1)])
    with pytest.raises(ValueError, match="counts: 1 of 206 are not whole, such as 1.5; wanted whole numbers from 1 up"):
        core.prune(graph, points, data, counts=np.r_[1.5, np.ones(len(points) - 1)])


def test_counts_of_equal_points_may_come_in_any_order():
    points, data = (np.repeat(values[::3], 3, axis=0) for values in scattered())
    rng = np.random.default_rng(4)
    counts, order = rng.integers(1, 9, len(points)), rng.permutation(len(points))
    graph = core.Graph(NODES, EDGES)
    one = core.prune(graph, points, data, counts=counts)
    other = core.prune(graph, points[order], data[order], counts=counts[order])
    assert [kept.gain for kept in one.kept] == [kept.gain for kept in other.kept]
    assert [kept.n_points for kept in one.kept] == [kept.n_points for kept in other.kept]
