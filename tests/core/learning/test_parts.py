"""Trees of parts of the rows: which rows, what becomes of their trees, and what stops them."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial, wraps
from threading import Lock

import numpy as np
import pytest
from scipy import sparse

from samples import forked
from skeltraj import core
from skeltraj.core._branches.nested import nested_trees
from skeltraj.core._branches.tips import alike_with, choose_tips
from skeltraj.core._learning import parts
from skeltraj.core._learning.choose_denoising import is_better, is_sure
from skeltraj.core._learning.parts import _parts, n_parts
from skeltraj.core._nodes.start import neighbor_of

pytestmark = pytest.mark.compiled("whole recipes, with fits from several starts")

METHODS = ["ddrtree", "principal_tree"]


def whole(X, **more):
    return core.learn_tree(X, n_starts=1, prune=False, **more)


def given(of):
    """A fork, a line, or a cube, of which parts tell no tree."""
    rng = np.random.default_rng(4)
    if of == "line":
        return np.linspace(0, 4, 240)[:, None] * np.eye(1, 8) + rng.normal(0, 0.1, (240, 8))
    if of == "cube":
        return np.hstack([rng.uniform(size=(240, 3)), rng.normal(0, 0.05, (240, 5))])
    return forked(240, 8, noise=0.2, seed=3)[0]


def parts_of(X, **options):
    smooth = core.denoise(X, **options)
    return _parts(smooth.values, len(X), np.sqrt(np.mean(smooth.reference**2)))


def test_parts_are_disjoint_and_do_not_depend_on_the_order_of_the_rows():
    X = forked(201, 6, noise=0.15)[0]
    order = np.random.default_rng(0).permutation(201)
    found, turned = parts_of(X), parts_of(X[order])
    assert [len(rows) for rows in found] == [100] * 4
    for mine, theirs in zip(found, turned, strict=True):
        np.testing.assert_array_equal(mine, np.unique(mine))  # ascending: as matrices on disk are read
        np.testing.assert_array_equal(np.sort(order[theirs]), mine)
    for one, other in (found[:2], found[2:]):
        assert not set(one) & set(other)
    assert 30 < len(set(found[0]) & set(found[2])) < 70  # another division


def test_parts_of_many_rows_have_as_many_as_are_enough(monkeypatch):
    monkeypatch.setattr(parts, "_MOST_ROWS", 40)
    found = parts_of(forked(200, 6)[0])
    assert [len(rows) for rows in found] == [40] * 4
    assert not set(found[0]) & set(found[1])


def test_few_rows_have_none():
    assert [n_parts(n) for n in (3, 59, 60, 10**6)] == [0, 0, 4, 4]
    learned = core.learn_tree(forked(59, 6)[0], n_starts=1)  # nothing to compare: the limit of `prune`
    assert (learned.tips, learned.agreement) == (None, None)
    assert learned.pruning.min_gain == 0.008
    several = core.learn_tree(forked(59, 6)[0], n_starts=2)  # the starts with one another
    assert several.agreement.shape == (2,)
    assert len(several.fit.graph.tips) == several.tips.chosen


@pytest.mark.parametrize("denoise", [True, False])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("of", ["fork", "line", "cube"])
def test_the_number_of_tips_is_the_one_that_parts_agree_on(method, denoise, of):
    """So is whether noise is made more equal."""
    X = given(of)
    learned = core.learn_tree(X, method, n_starts=2, rng=7, denoise=denoise)
    fit = partial(core.ddrtree, n_components=8) if method == "ddrtree" else core.principal_tree
    # where the last fit can begin from the one chosen, those that are compared end early and leave out small weights
    roughly = dict(tol=1e-4) if denoise else dict(tol=1e-5)
    roughly |= dict(least_weight=1e-6) if denoise and method == "ddrtree" else {}
    spawned = lambda n: np.random.default_rng(7).spawn(n)

    def nested(one, rows, places, smooth):
        nodes, data = one.nodes, one.in_node_space(rows)
        if denoise and method == "principal_tree":  # judged in the components
            nodes, data, places = ((values - smooth.mean) @ smooth.loadings for values in (nodes, data, places))
        resolution = 3 * np.sqrt(one.params["sigma"])
        return nested_trees(core.Graph(nodes, one.edges), places, data, resolution=resolution)

    def of_parts(way, rows_of_parts):
        trees = []
        for rows, seed in zip(rows_of_parts, spawned(4), strict=True):
            seen = X if way is None else way.scores(X)
            values, smooth = seen[rows], None
            if way is not None:  # by themselves, in the components of all rows
                smooth = core.denoise(values, 30, center=False)
                values = smooth.values
            tree = fit(values, **roughly, rng=seed)
            tree = tree if way is None else smooth.lifted(tree)
            trees.append(nested(tree, seen, tree.transform(seen if way is None else smooth.rows(seen)), smooth))
        return trees

    equal = False
    if not denoise:
        first = whole(X, method=method, rng=7, denoise=False).fit
        trees = of_parts(None, _parts(first.embedding, 240, np.sqrt(np.mean(first.nodes**2))))
    else:
        trees = of_parts(core.denoise(X), parts_of(X))
        others = of_parts(core.denoise(X, equalize=True), parts_of(X, equalize=True))
        tell = [parts.Parts(nested, np.arange(240), X) for nested in (others, trees)]
        equal = is_sure(tell[0]) or is_better(*tell)
        assert equal == (of != "cube")
        trees = others if equal else trees
        denoise = {"equalize": equal}
        assert learned.smooth.equalized == equal
    starts = [whole(X, method=method, rng=seed, denoise=denoise, **roughly) for seed in (7, *spawned(1))]
    of_starts = [nested(start.fit, X, start.fit.embedding, start.smooth) for start in starts]
    choice = choose_tips(of_starts, trees)
    assert learned.tips.chosen == choice.chosen == len(learned.fit.graph.tips)
    for name in ("n_tips", "agreement", "gain", "value"):
        np.testing.assert_allclose(getattr(learned.tips, name), getattr(choice, name), rtol=1e-9)
    of_each = alike_with(of_starts, trees, choice.chosen)
    np.testing.assert_allclose(learned.agreement, of_each, rtol=1e-9)
    best = starts[int(of_each.argmax())]
    if not denoise:
        np.testing.assert_array_equal(learned.whole.nodes, best.fit.nodes)
        return
    smooth = best.smooth
    again = fit(smooth.values, **roughly, rng=(7, *spawned(1))[int(of_each.argmax())])
    last = smooth.lifted(fit(smooth.values, init=again.as_init, rng=7))
    np.testing.assert_array_equal(learned.whole.nodes, last.nodes)
    assert learned.whole.objective[-1] <= best.fit.objective[-1]


def test_parts_are_denoised_as_all_rows_are_but_among_themselves():
    """Options of denoising hold for parts, of a number of neighbours the share that they take of the default one."""
    X = forked(200, 6, noise=0.15)[0]
    of_part = lambda **options: parts._of_part(options, 200, (100, 6))
    alike = dict(n_components=6, equalize=False, compress=False, center=False)
    assert of_part(n_components=30, n_steps=3, equalize=True, center=True) == alike | {"n_steps": 3}
    assert of_part(n_neighbors=9, n_tangents=0) == alike | {"n_neighbors": 4, "n_tangents": 0}
    assert of_part(n_neighbors=1) == alike | {"n_neighbors": 1}
    core.learn_tree(X, n_starts=1, denoise={"n_neighbors": 199})
    for n_obs, n_part, expected in ((600, 300, 20), (10_000, 3_000, 20), (1_000_000, 3_000, 20), (400, 200, 13)):
        assert parts._of_part({"n_neighbors": 20}, n_obs, (n_part, 6))["n_neighbors"] == expected


@pytest.mark.parametrize("n_obs", [200, 400, 1000])
def test_the_default_number_of_neighbours_can_be_named(n_obs):
    X = forked(n_obs, 6, noise=0.15)[0]
    named, default = (core.learn_tree(X, n_starts=2, denoise=denoise) for denoise in (neighbor_of(n_obs), "auto"))
    np.testing.assert_array_equal(named.tips.value, default.tips.value)
    np.testing.assert_array_equal(named.whole.nodes, default.whole.nodes)


@pytest.mark.parametrize("n_obs", [50, 300, 7600])
def test_a_given_number_of_tips_that_would_be_chosen_changes_nothing(n_obs):
    X = forked(n_obs, 6, noise=0.15)[0]
    chosen = core.learn_tree(X)
    given = core.learn_tree(X, prune={"n_tips": len(chosen.graph.tips)})
    assert chosen.tips is not None
    assert given.tips is None
    for name in ("nodes", "edges", "embedding", "agreement"):
        np.testing.assert_array_equal(getattr(given, name), getattr(chosen, name))
    np.testing.assert_array_equal(given.starts.found, chosen.starts.found)
    assert given.smooth.equalized == chosen.smooth.equalized == (n_obs > 50)  # few have no parts


def test_parts_tell_of_noise_whatever_is_said_of_tips():
    X = forked(300, 6, noise=0.15)[0]
    for prune in ("auto", {"n_tips": 3}, {"n_tips": 2}, {"min_gain": 0.02}):
        assert core.learn_tree(X, prune=prune).smooth.equalized
        assert core.learn_tree(X, prune=prune, n_starts=1).smooth.equalized
    assert not core.learn_tree(X, prune=False).smooth.equalized


def test_more_tips_than_a_tree_has():
    X = forked(120, 6, noise=0.1)[0]
    with pytest.warns(UserWarning, match="n_tips': 60}: the tree as it was fitted has .* tips"):
        learned = core.learn_tree(X, prune={"n_tips": 60})
    assert 2 < len(learned.graph.tips) < 60
    assert learned.agreement.min() > 0


def test_all_trees_are_counted():
    X = forked(120, 6, noise=0.1)[0]

    def counted(**options):
        said = []
        core.learn_tree(X, count=lambda done, total: said.append((done, total)), max_iter=3, tol=1, **options)
        return said

    # four parts with noise made more equal, which agree, so that four with noise as it is are left out; five starts
    assert counted() == [(done, 13) for done in range(1, 5)] + [(done, 9) for done in range(5, 10)]
    assert counted(denoise={"equalize": False}) == [(done, 9) for done in range(1, 10)]
    # parts tell of noise and tails where the number of tips or a limit is given, too
    assert counted(prune={"n_tips": 3}) == counted(prune={"min_gain": 0.01}) == counted()
    told = {"equalize": False, "compress": False}
    for denoise in (told, {"equalize": True}, {"compress": True}):
        assert counted(prune={"min_gain": 0.01}, denoise=denoise) == [(done, 5) for done in range(1, 6)]
    assert counted(prune=False) == [(done, 5) for done in range(1, 6)]
    assert counted(n_starts=1) == []


def test_a_user_who_stops_the_fit_stops_those_of_parts(monkeypatch):
    rounds = []

    @wraps(core.ddrtree)
    def watched(matrix, *args, callback, **options):
        fit = core.ddrtree(matrix, *args, callback=callback, **options)
        rounds.append((len(matrix), fit.n_iter))
        return fit

    monkeypatch.setitem(core.METHODS, "ddrtree", replace(core.METHODS["ddrtree"], fit=watched))
    X = forked(120, 6, noise=0.15)[0]
    learned = core.learn_tree(X, n_starts=1, callback=lambda done, objective: done == 2)
    assert learned.whole.n_iter == 2
    assert rounds[-1] == (120, 2)  # after the parts, which have told what becomes of the noise
    rounds.clear()
    core.learn_tree(X, n_starts=1, denoise=False, callback=lambda done, objective: done == 2)
    assert sorted(rounds) == [(60, 0)] * 4 + [(120, 2)]
    rounds.clear()
    core.learn_tree(X, n_starts=1, callback=lambda done, objective: False)
    assert min(n_iter for _, n_iter in rounds) > 2


def test_when_one_part_fails_those_at_work_end_early(monkeypatch):
    """The other would otherwise run for ever: its objective is never allowed to settle."""
    began, lock = [], Lock()

    @wraps(core.ddrtree)
    def endless(matrix, *args, callback, rng, **options):
        if len(matrix) == 120:
            return core.ddrtree(matrix, *args, callback=callback, rng=rng, **options)
        with lock:
            began.append(len(matrix))
        if rng.bit_generator.seed_seq.spawn_key == (0,):  # the first part, for which is waited first
            while len(began) < 2:
                time.sleep(0.001)
            raise KeyboardInterrupt
        while not callback(0, 0.0):
            time.sleep(0.001)
        raise RuntimeError("stopped")

    monkeypatch.setitem(core.METHODS, "ddrtree", replace(core.METHODS["ddrtree"], fit=endless))
    monkeypatch.setattr("skeltraj.core._runtime.threads.n_threads", lambda: 2)
    with pytest.raises(KeyboardInterrupt):
        core.learn_tree(forked(120, 6, noise=0.15)[0], n_starts=1)
    assert 2 <= len(began) < 4  # those not begun are left


def test_a_kernel_matrix_and_nodes_to_start_from_have_parts_or_none():
    X = forked(120, 6)[0]
    learned = core.learn_tree(X @ X.T, kernel="precomputed", n_components=3, denoise=False, prune=True)
    assert learned.tips is None
    assert learned.pruning is not None
    started = core.learn_tree(X, init=X[:, :3], n_components=3)
    assert started.tips is not None  # parts have starts of their own


def test_rows_on_disk_and_dask_arrays_have_the_same_parts(tmp_path):
    X = forked(150, 6, noise=0.05)[0]
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    lazy = pytest.importorskip("dask.array").from_array(X, chunks=(40, -1))
    expected = core.learn_tree(X, n_starts=2)
    for given in (mapped, lazy):
        learned = core.learn_tree(given, n_starts=2)
        np.testing.assert_allclose(learned.tips.value, expected.tips.value, rtol=1e-6)
        np.testing.assert_allclose(learned.agreement, expected.agreement, rtol=1e-6)
        np.testing.assert_array_equal(learned.fit.edges, expected.fit.edges)


FORMS = {
    "fit": lambda fit: fit,
    "pair": lambda fit: (fit.embedding, fit.nodes),
    "matrix": lambda fit: fit.nodes,
    "list": lambda fit: fit.nodes.tolist(),
    "sparse": lambda fit: sparse.csr_matrix(fit.nodes),
}


@pytest.mark.parametrize(
    ("method", "form"),
    [("ddrtree", "fit"), ("ddrtree", "pair")] + [("principal_tree", form) for form in ("matrix", "list", "sparse")],
)
def test_parts_have_as_many_nodes_as_a_given_start(method, form, monkeypatch):
    X = forked(240, 6, noise=0.15)[0]
    fit = getattr(core, method)(X, n_nodes=30)
    init = FORMS[form](fit)
    sizes = []
    nested_of = parts._nested
    monkeypatch.setattr(
        parts, "_nested", lambda learned, *rest: sizes.append(len(learned.whole.nodes)) or nested_of(learned, *rest)
    )
    d = fit.nodes.shape[1] if method == "ddrtree" else "auto"
    learned = core.learn_tree(X, method, n_components=d, init=init, prune=True)
    assert len(learned.whole.nodes) == 30
    assert sizes
    assert set(sizes) == {30}


@pytest.mark.parametrize(
    "init", [(), (np.ones((240, 2)),), (np.ones((240, 2)), 3.0), (np.ones((240, 2)), [[1.0, 2], [3]])]
)
def test_what_is_wrong_with_a_given_start_is_said_by_the_fit(init):
    X = forked(240, 6, noise=0.15)[0]
    with pytest.raises((TypeError, ValueError), match="init"):
        core.learn_tree(X, n_components=2, init=init, denoise=True, prune=True)
