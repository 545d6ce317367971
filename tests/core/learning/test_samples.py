"""Of many rows, trees are learned from samples first: sizes, what the fit of all begins from, and what it keeps."""

from __future__ import annotations

from functools import wraps

import numpy as np
import pytest

from samples import forked
from skeltraj import core
from skeltraj.core._branches.division import Division
from skeltraj.core._branches.starts import agreements, start_support
from skeltraj.core._data.sample import shuffled
from skeltraj.core._learning import choose_denoising, samples
from skeltraj.core._learning.fit_group import FitGroup
from skeltraj.core._learning.samples import all_of_few, samples_of
from skeltraj.core._runtime import threads

pytestmark = pytest.mark.compiled("whole recipes, with fits from several starts")

METHODS = ["ddrtree", "principal_tree"]
X = forked(450, 6, noise=0.12, seed=3)[0]


@pytest.fixture
def few(monkeypatch):
    """Samples so small that the rows here are many."""
    monkeypatch.setattr(samples, "_SIZES", {100: 150, 210: 315})
    monkeypatch.setattr(samples, "_FEWEST_PER_NODE", 2)


def watched(monkeypatch, method):
    """The fits of a method as they are made: how many rows, the arguments, the fit."""
    fits = []
    known = core.METHODS[method]

    @wraps(known.fit)
    def fit(matrix, **given):
        made = known.fit(matrix, **given)
        fits.append((matrix.shape[0], given, made))
        return made

    monkeypatch.setitem(core.METHODS, method, type(known)(**{**vars(known), "fit": fit}))
    return fits


def test_sizes():
    assert samples_of(7500, 100) == []
    assert samples_of(7501, 100) == [5000]
    assert samples_of(30_000, 100) == [5000]
    assert samples_of(30_001, 100) == [5000, 20_000]
    assert samples_of(400_000, 100) == [5000, 20_000]
    assert samples_of(400_001, 100) == [5000, 20_000, 80_000]
    assert samples_of(10**7, 800) == [20_000, 80_000]  # with so many nodes a smaller one tells too little
    assert samples_of(10**7, 8000) == [80_000]
    assert samples_of(10**7, 8001) == []
    assert [all_of_few(n, 100) for n in (7500, 7501, 101, 100)] == [[7500], [], [101], []]


@pytest.mark.parametrize("method", METHODS)
def test_of_few_rows_the_tree_chosen_goes_on_to_its_end(monkeypatch, method):
    fits = watched(monkeypatch, method)
    learned = core.learn_tree(X, method, n_starts=3)
    several, [(rows, given, last)] = fits[:-1], fits[-1:]
    assert {given["tol"] for _, given, _ in several} == {1e-4}
    assert sum(rows == 450 for rows, *_ in several) == 3
    assert rows == 450
    assert "tol" not in given
    begins = [made.objective[-1] for n, _, made in several if n == 450]
    assert min(np.abs(begins / last.objective[1] - 1)) < 1e-3  # after a round, since each row's place is found anew
    np.testing.assert_array_equal(learned.whole.objective, last.objective)
    fits.clear()  # rounds that are given are those of each fit, and one of these is the result
    learned = core.learn_tree(X, method, n_starts=3, max_iter=12)
    assert sum(rows == 450 for rows, *_ in fits) == 3
    assert learned.whole.n_iter <= 12


@pytest.mark.parametrize("method", METHODS)
def test_the_tree_chosen_goes_on_from_sample_to_sample(few, monkeypatch, method):
    fits = watched(monkeypatch, method)
    learned = core.learn_tree(X, method, n_starts=3, n_nodes=40, prune=True)
    assert [rows for rows, given, _ in fits if given.get("init") is None and rows < 225] == [100, 100, 100]
    later = [(rows, made) for rows, given, made in fits if given.get("init") is not None]
    assert [rows for rows, _ in later] == [100, 210, 450]
    # what is compared ends earlier: the starts and the parts of the rows
    assert {given.get("tol") for rows, given, _ in fits if given.get("init") is None} == {1e-4}
    assert {given.get("tol") for rows, given, _ in fits if given.get("init") is not None} == {None}
    np.testing.assert_array_equal(learned.whole.objective, later[-1][1].objective)
    assert learned.whole.params["n_nodes"] == 40
    assert learned.agreement.shape == (3,)
    assert learned.embedding.shape[0] == 450
    assert np.diff(learned.whole.objective).max() <= 1e-12 * np.abs(learned.whole.objective).max()


def test_a_tolerance_that_is_given_holds_where_it_is_the_larger(few, monkeypatch):
    for tol, wanted in ((1e-2, {1e-2}), (1e-7, {1e-4, 1e-7})):
        with monkeypatch.context() as patch:
            fits = watched(patch, "ddrtree")
            learned = core.learn_tree(X, n_starts=2, n_nodes=40, prune=True, tol=tol)
        assert {given["tol"] for _, given, _ in fits} == wanted
        assert learned.whole.params["tol"] == tol
    for wrong in (-1, float("nan")):  # told by the first fit
        counts = []
        with pytest.raises(ValueError, match=f"tol={wrong}"):
            core.learn_tree(X, n_starts=2, n_nodes=40, tol=wrong, count=lambda *n: counts.append(n))  # noqa: B023
        assert counts == []


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("prune", [True, False, {"min_gain": 0.02}], ids=str)
@pytest.mark.parametrize("n_starts", [1, 3])
def test_neither_order_nor_units_matter(few, method, prune, n_starts):
    order = np.random.default_rng(1).permutation(len(X))
    plain = core.learn_tree(X, method, n_nodes=40, prune=prune, n_starts=n_starts)
    other = core.learn_tree(4.0 * X[order], method, n_nodes=40, prune=prune, n_starts=n_starts)
    np.testing.assert_allclose(other.nodes, 4.0 * plain.nodes, rtol=1e-7)
    np.testing.assert_array_equal(other.edges, plain.edges)
    assert (other.agreement is None) == (plain.agreement is None) == (n_starts == 1 and prune is not True)
    assert prune is False or len(plain.graph.tips) == 3


@pytest.mark.parametrize("method", METHODS)
def test_a_dask_array_gives_the_same(few, method):
    da = pytest.importorskip("dask.array")
    plain = core.learn_tree(X, method, n_starts=2, n_nodes=40, prune=True)
    lazy = core.learn_tree(da.from_array(X, chunks=(130, -1)), method, n_starts=2, n_nodes=40, prune=True)
    np.testing.assert_allclose(lazy.fit.objective[-1], plain.fit.objective[-1], rtol=1e-6)
    np.testing.assert_allclose(lazy.nodes, plain.nodes, atol=1e-4 * np.abs(plain.nodes).max())


def test_the_objective_ends_no_higher_than_from_a_start_of_its_own(monkeypatch):
    ratios = []
    for seed in range(6):
        rows = forked(450, 6, noise=0.12, seed=seed)[0]
        given = dict(n_starts=1, prune=False, n_nodes=40)
        whole = core.learn_tree(rows, **given)
        with monkeypatch.context() as patch:
            patch.setattr(samples, "_SIZES", {100: 150, 210: 315})
            patch.setattr(samples, "_FEWEST_PER_NODE", 2)
            sampled = core.learn_tree(rows, **given)
        assert sampled.fit.params == whole.fit.params
        assert sampled.fit.objective[0] < whole.fit.objective[0]
        ratios.append(sampled.fit.objective[-1] / whole.fit.objective[-1])
    assert np.mean(ratios) < 1.001


def test_the_callback_follows_the_fit_of_all_rows_and_stops_it(few, monkeypatch):
    fits = watched(monkeypatch, "ddrtree")
    rounds = []
    learned = core.learn_tree(
        X, n_starts=3, n_nodes=40, prune=True, callback=lambda i, value: rounds.append((i, value))
    )
    np.testing.assert_array_equal([value for _, value in rounds], learned.whole.objective)
    counts = []
    stopped = core.learn_tree(
        X, n_starts=3, n_nodes=40, prune=True, callback=lambda i, value: True, count=lambda *n: counts.append(n)
    )
    assert stopped.whole.n_iter == 0
    assert counts[-1] == (8, 8)  # three starts, four parts, and the fit of all
    assert {rows for rows, *_ in fits} == {100, 210, 225, 450}


@pytest.mark.parametrize(
    "given",
    [dict(denoise=False), dict(preset="monocle2", n_nodes=60), dict(init=lambda rows: rows[:, :2]), dict(n_nodes=220)],
    ids=lambda given: ", ".join(given),
)
def test_where_there_is_no_sample(few, monkeypatch, given):
    fits = watched(monkeypatch, "ddrtree")
    core.learn_tree(X, n_components=2, prune=False, n_starts=1, **given)
    assert [rows for rows, *_ in fits] == [450]


@pytest.mark.parametrize(("method", "weight"), [("ddrtree", "lam"), ("principal_tree", "gamma")])
def test_length_weighs_as_much_in_samples_and_parts(few, monkeypatch, method, weight):
    fits = watched(monkeypatch, method)
    core.learn_tree(X, method, n_starts=1, n_nodes=40, prune=True, **{weight: 0.5})
    assert {rows for rows, *_ in fits} == {100, 210, 225, 450}
    for rows, given, _ in fits:
        share = rows / 450
        assert given[weight] == pytest.approx(0.5 * share if weight == "lam" else 0.5 / share)


@pytest.mark.parametrize("n_nodes", ["auto", 40, "all"])
@pytest.mark.parametrize(("method", "weight"), [("ddrtree", "lam"), ("principal_tree", "gamma")])
def test_a_given_weight_that_is_the_default_weighs_as_much_in_every_fit(few, monkeypatch, method, weight, n_nodes):
    """Also in samples and parts, which have other numbers of nodes."""

    def weights(**given):
        with monkeypatch.context() as patch:
            fits = watched(patch, method)
            core.learn_tree(X, method, n_starts=1, n_nodes=n_nodes, max_iter=2, prune=True, **given)
        return [(n, len(made.nodes), made.params[weight]) for n, _, made in fits]

    by_default = weights()
    assert len({K for _, K, _ in by_default}) == (1 if n_nodes == 40 else 2)
    [value] = {given for n, _, given in by_default if n == 450}
    assert sorted(weights(**{weight: value})) == [pytest.approx(fit) for fit in sorted(by_default)]


def test_a_weight_given_with_a_preset_goes_with_the_rows(monkeypatch):
    fits = watched(monkeypatch, "ddrtree")
    core.learn_tree(X[:120], preset="kdd2015", lam=60.0, max_iter=2, prune=True)
    assert {n: given["lam"] for n, given, _ in fits} == {120: 60.0, 60: 30.0}


def test_the_last_sample_begins_from_the_tree_that_is_most_alike(few, monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 1)  # so that fits are made in the order of the starts
    chosen = set()
    for seed in range(4):
        with monkeypatch.context() as patch:
            fits = watched(patch, "ddrtree")
            rows = forked(450, 6, noise=0.3, seed=seed)[0]
            learned = core.learn_tree(rows, n_starts=3, n_nodes=40, prune=False)
        starts = [made for n, given, made in fits if n == 100 and given.get("init") is None]
        [(init, again)] = [(given["init"], made) for n, given, made in fits if n == 100 and made not in starts]
        assert [given["init"] for n, given, _ in fits if n == 210] == [again]
        at = [made is init for made in starts].index(True)
        assert at == learned.agreement.argmax()
        chosen.add(at)
        # and its branches are told of the fit of all rows, beside those of the other starts
        smooth = core.denoise(rows)
        sample = np.sort(shuffled(smooth.values, 100, np.sqrt(np.mean(smooth.reference**2))))
        divisions = [_division(made.graph, made.embedding) for made in starts]
        assert learned.agreement == pytest.approx(agreements(divisions))
        divisions[at] = _division(learned.graph, learned.embedding[sample])
        np.testing.assert_allclose(learned.starts.support, start_support(divisions, at).support)
    assert len(chosen) > 1


def _division(graph, points):
    ends = np.array([path[[0, -1]] for path in graph.branches])
    return Division(graph.branch_of_edge[core.locate(graph, points).edge], len(graph.branches), ends)


def test_samples_have_as_many_nodes_as_all_rows(monkeypatch):
    monkeypatch.setattr(samples, "_SIZES", {200: 300, 500: 750})
    monkeypatch.setattr(samples, "_FEWEST_PER_NODE", 1)
    fits = watched(monkeypatch, "ddrtree")
    core.learn_tree(forked(1200, 6, noise=0.12, seed=3)[0], n_starts=2)
    assert {len(made.nodes) for n, _, made in fits if n in (200, 500)} == {121}
    assert {len(made.nodes) for n, _, made in fits if n == 1200} == {121}


def test_a_sample_in_which_nothing_differs_tells_nothing(few, monkeypatch):
    fits = watched(monkeypatch, "ddrtree")
    rows = np.zeros((450, 3))
    rows[:4] = np.eye(4)[:, :3]
    monkeypatch.setattr(samples.Samples, "differ", property(lambda self: False))
    core.learn_tree(rows, n_starts=1, n_nodes=3, prune=False)
    assert [n for n, *_ in fits] == [450]


@pytest.mark.parametrize("stays", [True, False])
@pytest.mark.parametrize("n_threads", [1, 4])
def test_starts_begun_with_the_parts_are_given_up_where_the_input_is_denoised_otherwise(monkeypatch, stays, n_threads):
    """The tree, the counts and the generator are those of starts that are begun when all parts are known."""
    monkeypatch.setattr(threads, "n_threads", lambda: n_threads)
    monkeypatch.setattr(choose_denoising, "is_sure", lambda parts: stays)
    monkeypatch.setattr(choose_denoising, "is_better", lambda equal, unequal: False)
    rng, counts = np.random.default_rng(5), []
    learned = core.learn_tree(X, n_starts=2, rng=rng, count=lambda *done: counts.append(done))
    assert learned.smooth.equalized is stays
    monkeypatch.setattr(choose_denoising.Starts, "tasks", [])
    monkeypatch.setattr(
        choose_denoising.Starts, "trees", lambda starts: [starts.samples.tree(s, None) for s in starts._seeds]
    )
    later, numbers = np.random.default_rng(5), []
    other = core.learn_tree(X, n_starts=2, rng=later, count=lambda *done: numbers.append(done))
    np.testing.assert_array_equal(learned.nodes, other.nodes)
    np.testing.assert_array_equal(learned.agreement, other.agreement)
    assert rng.bit_generator.state == later.bit_generator.state
    done, total = counts[-1]
    assert done == total == len(counts)
    assert total - (7 if stays else 11) in ((0,) if stays else (0, 1, 2))  # more where some were made in vain
    assert numbers[-1][0] == numbers[-1][1] - 2  # that do not count


def test_starts_that_are_given_up_are_not_made():
    fit_group, made = FitGroup(None, 0), []
    some = samples.Samples(X, [100], 1.0, lambda rows, stopped, rng: made.append(rng) or stopped, fit_group)
    starts = samples.Starts(some, [1, 2, 3], fit_group)
    first, *others = starts.tasks
    first()
    starts.give_up()
    for make in others:
        make()
    assert made == [1]
    [stopped, *none] = starts.trees()
    assert none == [None, None]
    assert stopped()
    assert samples.Starts(some, [1, 2], fit_group).trees() != [None, None]


def test_rows_that_are_the_same_but_for_rounding():
    fit = lambda *given, **more: None
    of = lambda rows: samples.Samples(rows, [40], 1.0, fit, None).differ
    assert not of(np.full((90, 2), 1 / 3))
    assert not of(1 + 1e-12 * np.random.default_rng(0).normal(size=(90, 2)))
    assert of(1 + 1e-3 * np.random.default_rng(0).normal(size=(90, 2)))


def test_a_wrong_weight_is_told_as_it_was_given(few):
    for weight, kind in ((-1.0, ValueError), (np.nan, ValueError), ("a", TypeError)):
        with pytest.raises(kind, match=f"lam={weight!r} is"):
            core.learn_tree(X, n_starts=1, n_nodes=40, lam=weight)


def test_many_rows_that_are_not_denoised_have_one_start(monkeypatch):
    monkeypatch.setattr("skeltraj.core._learning.options._MAX_ROWS_SEVERAL_STARTS", 200)
    fits = watched(monkeypatch, "ddrtree")
    core.learn_tree(X, denoise=False, prune=False)
    assert [n for n, *_ in fits] == [450]


def test_a_fit_of_the_input_is_no_start_for_denoised_rows():
    fit = core.ddrtree(X, 3)
    learned = core.learn_tree(X, init=fit)
    assert learned.smooth is None
    np.testing.assert_array_equal(learned.nodes, core.ddrtree(X, 3, init=fit).nodes)
    with pytest.raises(ValueError, match="denoise=True with init; wanted denoise=False"):
        core.learn_tree(X, init=fit, denoise=True)
    with pytest.raises(TypeError, match="init is a LearnedTree; wanted an embedding"):
        core.learn_tree(X, init=learned)
    assert core.learn_tree(X, init=learned.whole).whole.objective[-1] <= fit.objective[-1]


@pytest.mark.parametrize("denoise", [False, True])
def test_matrices_that_are_not_in_memory_are_refused_as_others_are(denoise):
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="X is empty"):
        core.learn_tree(da.zeros((0, 4)), denoise=denoise)
    with pytest.raises(ValueError, match="wanted at least 3"):
        core.learn_tree(da.zeros((1, 4)), denoise=denoise)
