"""Which way branches run: known answers, all permutations one by one, laws, level, errors."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from scipy import sparse, stats

from samples import CROSS, LINES
from skeltraj import core
from skeltraj.core._groups.edge_directions import cosines

CROSSED = core.Graph(np.array(CROSS["nodes"], dtype=float), np.array(CROSS["edges"]))
# T1 (node 0) - F1 (node 2); T2 (node 7) - F1; F1 - T3 (node 4); F1 - T4 (node 6)
ENDS = [(0, 2), (7, 2), (2, 4), (2, 6)]


def on_cross(n, seed=0):
    """Points on the arms of the cross, their positions, and unit vectors away from node 0 in the plane."""
    rng = np.random.default_rng(seed)
    ends = np.array([[[0, 0], [2, 0]], [[2, 0], [2, -1]], [[2, 0], [2, 2]], [[2, 0], [4, 0]]], dtype=float)
    arm = np.arange(n) % 4
    points = ends[arm, 0] + rng.uniform(0.05, 0.95, n)[:, None] * (ends[arm, 1] - ends[arm, 0])
    away = ends[arm, 1] - ends[arm, 0]
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    return points, core.locate(CROSSED, points), away


def nearest(points, k):
    squared = ((points[:, None] - points) ** 2).sum(axis=2)
    links = sparse.lil_matrix(squared.shape)
    for i, row in enumerate(np.argsort(squared, axis=1, kind="stable")[:, :k]):
        links[i, row] = 1
    return links.tocsr()


def test_vectors_away_from_a_tip_by_hand():
    _, position, away = on_cross(80)
    result = core.direction(CROSSED, position, vectors=away, node_places=CROSSED.nodes, n_permutations=99)
    assert [(int(path[0]), int(path[-1])) for path in CROSSED.branches] == ENDS
    np.testing.assert_allclose(result.agreement, [1, -1, 1, 1])
    assert result.towards.tolist() == [2, 7, 4, 6]
    assert result.n_points.tolist() == [20] * 4
    assert result.p_value.tolist() == result.q_value.tolist() == [0.01] * 4
    # each branch weighs a quarter: from node 0 all agree, from F1 all but one, from another tip all but two
    assert result.roots.tolist() == [0, 2, 7, 4, 6]
    np.testing.assert_allclose(result.root_agreement, [1, 0.5, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(result.root_p_value, [0.01, *result.root_p_value[1:]])
    assert (np.diff(result.root_p_value) >= 0).all()
    assert result.margin == pytest.approx(0.5)
    assert result.used.all()


def test_cosines_are_averaged_and_reversed_vectors_turn_all():
    _, position, away = on_cross(80)
    turn = np.deg2rad(60) * np.tile([1, -1], 40)
    turned = np.column_stack(
        [
            np.cos(turn) * away[:, 0] - np.sin(turn) * away[:, 1],
            np.sin(turn) * away[:, 0] + np.cos(turn) * away[:, 1],
        ]
    )
    one = core.direction(CROSSED, position, vectors=turned, node_places=CROSSED.nodes, n_permutations=50)
    np.testing.assert_allclose(one.agreement, [0.5, -0.5, 0.5, 0.5])
    other = core.direction(CROSSED, position, vectors=-turned, node_places=CROSSED.nodes, n_permutations=50)
    np.testing.assert_allclose(other.agreement, -one.agreement)
    assert other.towards.tolist() == [0, 2, 2, 2]
    np.testing.assert_array_equal(other.p_value, one.p_value)
    assert other.roots[-1] == 0  # all branches run to it
    assert other.root_p_value[-1] == 1


def test_a_score_is_ranked_along_each_branch():
    points, position, _ = on_cross(80)
    score = position.distances_from(CROSSED, 6)
    result = core.direction(CROSSED, position, score=np.exp(3 * score), n_permutations=99)
    np.testing.assert_allclose(result.agreement, [-1, -1, 1, -1])
    assert result.roots[0] == 6
    assert result.towards.tolist() == [0, 7, 4, 2]
    rng = np.random.default_rng(0)
    noisy = np.round(score + rng.standard_normal(80), 1)  # with ties
    result = core.direction(CROSSED, position, score=noisy, n_permutations=5)
    from_start = [points[:, 0], points[:, 1], points[:, 1], points[:, 0]]  # these rise along the branches
    arm_of_branch = [0, 1, 2, 3]
    for branch, arm in enumerate(arm_of_branch):
        on = np.arange(80) % 4 == arm
        expected = stats.spearmanr(from_start[branch][on], noisy[on]).statistic
        assert result.agreement[branch] == pytest.approx(expected)


def averaged(values, links):
    """The values of the last axis, averaged over neighbours and the points themselves."""
    full = links.toarray() != 0
    np.fill_diagonal(full, True)
    return values @ (full / full.sum(axis=1, keepdims=True)).T


LINE = core.Graph(np.array([[0.0, 0], [1, 0], [2, 0]]), np.array([[0, 1], [1, 2]]))


@pytest.mark.parametrize("k", [None, 3])
def test_p_values_of_vectors_are_those_of_all_signs(k):
    rng = np.random.default_rng(1)
    points = np.column_stack([np.sort(rng.uniform(0, 2, 9)), np.zeros(9)])
    links = None if k is None else nearest(points, k)
    angle = rng.uniform(0, 2.4, 9)
    vectors = rng.uniform(1, 5, (9, 1)) * np.column_stack([np.cos(angle), np.sin(angle)])
    result = core.direction(
        LINE,
        core.locate(LINE, points),
        vectors=vectors,
        node_places=LINE.nodes,
        neighbors=links,
        n_permutations=20_000,
    )
    cosine = np.cos(angle)
    drawn = np.array(list(product([1, -1], repeat=9))) * cosine
    drawn = drawn if links is None else averaged(drawn, links)
    relative = np.abs(drawn.mean(axis=1)) / np.sqrt((drawn**2).mean(axis=1))
    own = np.abs(cosine.mean()) / np.sqrt((cosine**2).mean())
    assert result.agreement[0] == pytest.approx(cosine.mean())
    assert result.p_value[0] == pytest.approx((relative >= own - 1e-9).mean(), abs=0.012)
    # of one branch there are two roots, and the better one agrees as well as the branch does, one way or the other
    assert result.root_p_value[0] == pytest.approx(result.p_value[0], abs=1e-12)


@pytest.mark.parametrize("k", [None, 3])
def test_p_values_of_a_score_are_those_of_all_orders(k):
    points = np.column_stack([np.array([0.1, 0.3, 0.7, 1.1, 1.2, 1.6, 1.9]), np.zeros(7)])
    links = None if k is None else nearest(points, k)
    score = np.array([2.0, 1, 5, 4, 3, 7, 6])
    position = core.locate(LINE, points)
    result = core.direction(LINE, position, score=score, neighbors=links, n_permutations=20_000)
    drawn = np.array(list(permutations(score - score.mean())))
    drawn = stats.rankdata(drawn if links is None else averaged(drawn, links).round(12), axis=1)
    place = np.arange(7) - 3.0
    deviation = drawn - drawn.mean(axis=1, keepdims=True)
    relative = np.abs(deviation @ place) / np.sqrt((deviation**2).sum(axis=1) * (place**2).sum())
    own = stats.spearmanr(score, place).statistic
    assert result.agreement[0] == pytest.approx(own)
    assert result.p_value[0] == pytest.approx((relative >= own - 1e-9).mean(), abs=0.012)


def test_the_order_of_points_and_units_change_nothing():
    rng = np.random.default_rng(3)
    points, position, away = on_cross(60)
    vectors = away + rng.standard_normal((60, 2))
    links = nearest(points + 0.1 * rng.standard_normal(points.shape), 5)
    score = rng.standard_normal(60)
    order = rng.permutation(60)
    large = core.Graph(1000 * CROSSED.nodes, CROSSED.edges)
    for values, shuffled, scaled in (
        (
            dict(vectors=vectors, node_places=CROSSED.nodes),
            dict(vectors=vectors[order], node_places=CROSSED.nodes),
            dict(vectors=1e-9 * rng.uniform(1, 2, (60, 1)) * vectors, node_places=50 * CROSSED.nodes + 7),
        ),
        (dict(score=score), dict(score=score[order]), dict(score=np.exp(score))),
    ):
        one = core.direction(CROSSED, position, **values, neighbors=links, n_permutations=40)
        two = core.direction(
            CROSSED, position.part(order), **shuffled, neighbors=links[order][:, order], n_permutations=40
        )
        three = core.direction(
            large, core.locate(large, 1000 * points), **scaled, neighbors=2 * links, n_permutations=40
        )
        np.testing.assert_array_equal(two.used, one.used[order])
        for name in ("agreement", "towards", "p_value", "q_value", "n_points", "root_agreement", "root_p_value"):
            np.testing.assert_allclose(getattr(two, name), getattr(one, name), atol=1e-12)
            np.testing.assert_allclose(getattr(three, name), getattr(one, name), atol=1e-12)
        assert two.roots.tolist() == three.roots.tolist() == one.roots.tolist()


def test_edges_stored_any_way_and_vectors_sparse_or_in_another_space():
    points, position, away = on_cross(60)
    vectors = away + np.random.default_rng(0).standard_normal((60, 2))
    one = core.direction(CROSSED, position, vectors=vectors, node_places=CROSSED.nodes, n_permutations=20)
    turned = core.Graph(CROSSED.nodes, CROSSED.edges[::-1, ::-1])
    rotation = np.linalg.qr(np.random.default_rng(1).standard_normal((5, 2)))[0]
    other = core.direction(
        turned,
        core.locate(turned, points),
        vectors=sparse.csr_matrix(vectors @ rotation.T),
        node_places=CROSSED.nodes @ rotation.T + 3,
        n_permutations=20,
    )
    np.testing.assert_allclose(other.agreement, one.agreement)
    np.testing.assert_array_equal(other.p_value, one.p_value)


def test_points_without_a_value_are_left_out():
    _, position, away = on_cross(80)
    vectors = away.copy()
    vectors[0], vectors[4], vectors[9] = np.nan, 0, [np.inf, 1]
    result = core.direction(CROSSED, position, vectors=vectors, node_places=CROSSED.nodes, n_permutations=9)
    assert np.flatnonzero(~result.used).tolist() == [0, 4, 9]
    assert result.n_points.tolist() == [18, 19, 20, 20]
    np.testing.assert_allclose(result.agreement, [1, -1, 1, 1])
    score = np.where(np.arange(80) % 4 == 2, 1.0, position.distances_from(CROSSED, 0))
    score[np.arange(80) % 4 == 3] = np.nan
    result = core.direction(CROSSED, position, score=score, n_permutations=9)  # constant on B3, missing on B4
    assert result.n_points.tolist() == [20, 20, 20, 0]
    np.testing.assert_allclose(result.agreement, [1, -1, np.nan, np.nan])
    assert np.isnan(result.p_value).tolist() == np.isnan(result.q_value).tolist() == [False, False, True, True]
    assert result.towards.tolist() == [2, 7, -1, -1]
    assert result.roots[0] == 0
    np.testing.assert_allclose(result.root_agreement[0], 1)


def test_parts_and_rings():
    graph = core.Graph(np.array(LINES["nodes"], dtype=float), np.array(LINES["edges"]))
    points = np.array([[x, 0.0] for x in np.linspace(0.1, 1.9, 12)] + [[x, 0.0] for x in (5.1, 5.5, 5.9)] + [[9, 9]])
    position = core.locate(graph, points)
    result = core.direction(graph, position, score=points[:, 0], n_permutations=9)
    assert not result.used[-1]  # at a node without edges
    assert result.roots.tolist() == [0, 2]  # the ends of the part with most points
    assert result.root_agreement[0] == pytest.approx(12 / 15)  # the other part leads nowhere from there
    assert np.isfinite(result.agreement).sum() == 2
    angle = 2 * np.pi * np.arange(12) / 12
    ring = core.Graph(
        np.column_stack([np.cos(angle), np.sin(angle)]), np.column_stack([np.arange(12), (np.arange(12) + 1) % 12])
    )
    at = core.locate(ring, ring.nodes[:, :] * 1.1)
    around = np.column_stack([-np.sin(angle), np.cos(angle)])
    result = core.direction(ring, at, vectors=around, node_places=ring.nodes, n_permutations=9)
    assert abs(result.agreement[0]) > 0.5
    assert len(result.roots) == 0
    assert np.isnan(result.margin)


def test_a_loop_leads_away_from_a_root_by_the_shortest_path():
    # a tail from node 0 to a square 1-2-3-4: a branch of the square is as long both ways round
    nodes = np.array([[0.0, 0], [1, 0], [2, 1], [3, 0], [2, -1], [4, 0]])
    graph = core.Graph(nodes, np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 1], [3, 5]]))
    rng = np.random.default_rng(0)
    points = np.vstack([np.linspace(nodes[a], nodes[b], 12)[1:-1] for a, b in graph.edges.tolist()])
    position = core.locate(graph, points + 1e-6 * rng.standard_normal(points.shape))
    result = core.direction(graph, position, score=points[:, 0], n_permutations=19)
    assert result.roots[0] == 0
    assert result.root_agreement[0] == pytest.approx(1)
    np.testing.assert_allclose(np.abs(result.agreement), 1, atol=1e-6)


def test_neighbours_that_leave_no_difference_tell_nothing():
    _, position, away = on_cross(24)
    everyone = sparse.csr_matrix(np.ones((24, 24)))
    for values in (dict(vectors=away, node_places=CROSSED.nodes), dict(score=position.distances_from(CROSSED, 0))):
        result = core.direction(CROSSED, position, **values, neighbors=everyone, n_permutations=20)
        assert result.p_value.tolist() == [1] * 4


@pytest.mark.compiled("takes minutes")
def test_level_of_smoothed_noise():
    """At 0.05 with the neighbours over which values were averaged; taken as measured, most are significant."""
    rng = np.random.default_rng(0)
    points, position, _ = on_cross(480)
    places = np.hstack([CROSSED.nodes, np.zeros((8, 3))])
    links = nearest(np.hstack([points, 0.3 * rng.standard_normal((480, 3))]), 30)
    means = sparse.csr_matrix(links / 30)
    vectors, scores, naive = [], [], []
    for i in range(100):
        drawn, score = means @ rng.standard_normal((480, 5)), means @ rng.standard_normal(480)
        of = lambda i=i, links=links, **values: (
            core.direction(CROSSED, position, **values, neighbors=links, n_permutations=79, rng=i).p_value
        )
        vectors.append(of(vectors=drawn, node_places=places))
        scores.append(of(score=score))
        naive.append(of(links=None, score=score))
    # 400 p-values: the standard error is at most 0.011 if those of a draw are independent
    assert np.mean(np.array(vectors) <= 0.05) < 0.09
    assert np.mean(np.array(scores) <= 0.05) < 0.09
    assert np.mean(np.array(naive) <= 0.05) > 0.5


def test_progress_is_told():
    _, position, _ = on_cross(40)
    told = []
    core.direction(CROSSED, position, score=np.arange(40.0), n_permutations=30, callback=lambda *at: told.append(at))
    assert told[-1] == (30, 30)


GOOD = dict(vectors=np.ones((40, 2)), node_places=CROSSED.nodes)


@pytest.mark.parametrize(
    ("values", "error", "match"),
    [
        (dict(), ValueError, "neither vectors nor score was given; wanted one of them"),
        (GOOD | dict(score=np.ones(40)), ValueError, "both vectors and score were given"),
        (dict(vectors=np.ones((40, 2))), ValueError, "without node_places"),
        (GOOD | dict(node_places=np.ones((3, 2))), ValueError, r"shape \(3, 2\); wanted a row for each of 8 nodes"),
        (GOOD | dict(node_places=np.full((8, 2), np.nan)), ValueError, "node_places: 8 of 8 hold NaN"),
        (GOOD | dict(vectors=np.ones((40, 3))), ValueError, r"vectors has shape \(40, 3\); wanted \(40, 2\)"),
        (GOOD | dict(vectors=np.full((40, 2), "a")), TypeError, "vectors has dtype <U1; wanted real numbers"),
        (
            GOOD | dict(vectors=np.full((40, 2), np.nan)),
            ValueError,
            "none of 40 points lies on a branch and has a value",
        ),
        (dict(score=np.ones(39)), ValueError, r"score is of shape \(39,\); wanted one number for each of 40"),
        (dict(score=np.full(40, "a")), TypeError, "score is of type <U1"),
        (dict(score=np.r_[np.arange(38.0), np.inf, -np.inf]), ValueError, "score: 2 of 40 are infinite; wanted finite"),
        (dict(score=np.ones(40)), ValueError, "the score is constant on every branch"),
        (dict(score=np.arange(40), neighbors=np.ones((40, 40))), TypeError, "neighbors is a ndarray; wanted a sparse"),
        (dict(score=np.arange(40), neighbors=sparse.eye(3)), ValueError, r"shape \(3, 3\); wanted \(40, 40\)"),
        (dict(score=np.arange(40), n_permutations=0), ValueError, "n_permutations=0 is out of range"),
        (dict(score=np.arange(40), rng="a"), TypeError, "rng='a'"),
    ],
)
def test_errors(values, error, match):
    _, position, _ = on_cross(40)
    with pytest.raises(error, match=match):
        core.direction(CROSSED, position, **values)


def test_a_mesh_is_refused():
    _, position, _ = on_cross(40)
    with pytest.raises(ValueError, match="joins the points themselves and has no branches"):
        core.direction(core.Mesh(CROSSED.nodes, CROSSED.edges), position, score=np.arange(40))


def test_branches_are_adjusted_together():
    points, position, _ = on_cross(80)
    score = points[:, 0] + np.where(points[:, 1] == 0, 0.0, np.random.default_rng(5).standard_normal(80))
    result = core.direction(CROSSED, position, score=score, n_permutations=99)
    assert len(np.unique(result.p_value)) > 2
    np.testing.assert_allclose(result.q_value, stats.false_discovery_control(result.p_value))
    assert (result.q_value > result.p_value).any()


def test_no_cosine_is_beyond_one():
    ways = np.random.default_rng(0).standard_normal((500, 5))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    for sign in (1, -1):
        found = cosines(3 * sign * ways, ways, np.arange(500))
        np.testing.assert_allclose(found, sign)
        assert np.abs(found).max() <= 1
