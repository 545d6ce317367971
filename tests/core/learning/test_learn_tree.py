"""The whole recipe with arrays: the same as for cells, and its own words."""

from __future__ import annotations

import inspect

import anndata as ad
import numpy as np
import pytest
from scipy import sparse

import skeltraj as st
from samples import noisy
from skeltraj import core
from skeltraj.tl._fitting.stored_recipe import stored_recipe

pytestmark = pytest.mark.compiled("whole recipes, with fits from several starts")

METHODS = ["ddrtree", "principal_tree"]
X = np.asarray(noisy(200, noise=0.15).X)

SETTINGS = {
    "defaults": {},
    "one start": dict(n_starts=1),
    "plain": dict(denoise=False, prune=False, n_starts=1),
    "nodes": dict(n_nodes=30, denoise={"n_neighbors": 8, "n_tangents": 0}, rng=4),
    "pruned by a dict": dict(prune={"min_gain": 0.05, "resolution": 0.2}, n_starts=2),
}


@pytest.fixture(scope="module", params=METHODS)
def learned(request):
    """A tree of some rows, from two starts, and new rows."""
    return core.learn_tree(X[:150], request.param, n_starts=2), X[150:]


def same_as_stored(learned, adata, method):
    stored = adata.uns[method]
    for name in ("nodes", "edges", "objective", "n_iter", "converged"):
        np.testing.assert_array_equal(stored[name], getattr(learned.fit, name))
    np.testing.assert_array_equal(adata.obsm[f"X_{method}"], learned.embedding)
    np.testing.assert_array_equal(adata.obsm[f"{method}_assignment"].toarray(), learned.assignment.toarray())
    assert ("agreement" in stored) == (learned.agreement is not None)
    if learned.agreement is not None:
        np.testing.assert_array_equal(stored["agreement"], learned.agreement)
    assert ("pruned" in stored) == (learned.pruning is not None)
    if learned.pruning is not None:
        np.testing.assert_array_equal(stored["pruned"]["nodes"], learned.whole.nodes)
        np.testing.assert_array_equal(stored["pruned"]["place"], learned.pruning.place)
    assert ("denoise" in stored) == (learned.smooth is not None)


@pytest.mark.filterwarnings("ignore:.*the trees from")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_arrays_and_cells_give_the_same_to_the_last_bit(method, setting):
    adata = ad.AnnData(X.copy())
    getattr(st.tl, method)(adata, **SETTINGS[setting])
    learned = core.learn_tree(X, method, **SETTINGS[setting])
    same_as_stored(learned, adata, method)
    assert learned.recipe == stored_recipe(adata, method)[0]


@pytest.mark.parametrize(
    "given",
    [
        dict(n_components=3),
        dict(n_components=0.6, center=False),
        dict(preset="monocle2"),
        dict(init=lambda rows: rows[:, :3] - rows[:, :3].mean(axis=0), n_components=3),
        dict(init=(X[:, :2], X[:12, :2])),
        dict(lam=4.0, sigma=0.2, assignment="hard", max_iter=30, tol=1e-3),
    ],
    ids=lambda given: ", ".join(given),
)
def test_arguments_of_ddrtree_mean_the_same(given):
    adata = ad.AnnData(X.copy())
    st.tl.ddrtree(adata, n_starts=1, **given)
    same_as_stored(core.learn_tree(X, n_starts=1, **given), adata, "ddrtree")


def test_a_kernel_matrix_is_fitted_as_it_is():
    learned = core.learn_tree(X @ X.T, n_components=3, kernel="precomputed")
    assert learned.smooth is None
    assert learned.agreement is None
    assert learned.recipe is None
    assert learned.pruning is not None


@pytest.mark.parametrize("kind", ["sparse", "float32", "list", "dask"])
def test_other_kinds_of_input(kind):
    # little noise, so that rounding leads to no other tree
    rows = np.asarray(noisy(200, noise=0.05).X, dtype=np.float32 if kind == "float32" else np.float64)
    rows[np.abs(rows) < 0.05] = 0.0
    given = {"sparse": sparse.csc_matrix, "float32": np.asarray, "list": np.ndarray.tolist}.get(kind)
    if kind == "dask":
        da = pytest.importorskip("dask.array")
        given = lambda values: da.from_array(values, chunks=(90, -1))
    made = core.learn_tree(given(rows), n_components=3, n_starts=1)
    plain = core.learn_tree(np.asarray(rows, dtype=np.float64), n_components=3, n_starts=1)
    np.testing.assert_allclose(made.fit.objective[-1], plain.fit.objective[-1], rtol=1e-4)
    np.testing.assert_allclose(made.transform(rows), made.transform(sparse.csr_matrix(rows)), atol=1e-6)
    assert stays(made, rows)


def test_units_and_order_do_not_matter():
    order = np.random.default_rng(1).permutation(len(X))
    plain, other = core.learn_tree(X), core.learn_tree(4.0 * X[order])
    np.testing.assert_allclose(other.nodes, 4.0 * plain.nodes, rtol=1e-9)
    np.testing.assert_array_equal(other.edges, plain.edges)
    np.testing.assert_allclose(other.agreement, plain.agreement)


@pytest.mark.parametrize("seed", [0, 16])
def test_order_does_not_matter_where_every_row_has_a_node(seed):
    """Rows that are nearest to a node are equally near to its edges, which are then numbered by the rows."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(40, 100)), int(rng.integers(3, 8))
    arm, t, ends = rng.integers(0, 3, n), rng.random(n), 3 * rng.normal(size=(3, d))
    rows = t[:, None] * ends[arm] + 0.2 * rng.normal(size=(n, d))
    order = rng.permutation(n)
    plain, other = core.learn_tree(rows), core.learn_tree(rows[order])
    np.testing.assert_array_equal(plain.agreement, other.agreement)
    np.testing.assert_array_equal(plain.tips.agreement, other.tips.agreement)
    assert [kept.n_points for kept in plain.pruning.kept] == [kept.n_points for kept in other.pruning.kept]


def stays(tree, rows):
    """Whether nearly all fitted rows come out where they are, as far as the fit has converged."""
    moved = np.linalg.norm(tree.transform(rows) - np.asarray(tree.embedding), axis=1)
    return np.mean(moved < 1e-3 * np.abs(tree.nodes).max()) > 0.9


def test_rows_that_were_fitted_come_out_where_they_are(learned):
    tree, new = learned
    assert stays(tree, X[:150])
    assert tree.transform(new).shape == (50, tree.nodes.shape[1])
    np.testing.assert_allclose(tree.transform(new)[3:7], tree.transform(new[3:7]), atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("equalize", [True, False])
def test_rows_are_assigned_by_the_distances_of_the_fit(method, equalize):
    """In components of very unequal noise, of which the fit of a principal tree in the input's columns knows."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 8)) * np.r_[6.0, np.ones(7)]
    rows[:, 1] += np.linspace(0, 20, 300)
    tree = core.learn_tree(rows, method, n_starts=2, denoise={"equalize": equalize})
    assert tree.smooth.equalized == equalize
    assert stays(tree, rows)
    if method == "principal_tree":
        assert (tree.fit.metric is not None) == equalize
        R = tree.whole.hold(tree.denoised(rows, np.arange(300)), tree.whole.nodes)[1]
        np.testing.assert_allclose(R.toarray(), tree.whole.assignment.toarray(), atol=1e-9)


def test_new_rows_of_more_columns_than_components_where_nothing_was_pruned():
    """The tree was judged in the components of the denoised rows, and is one of the columns nevertheless."""
    rows = np.random.default_rng(0).normal(0, 0.1, (120, 40))
    rows[:, 0] += np.linspace(0, 10, 120)
    tree = core.learn_tree(rows, "principal_tree", n_starts=1)
    assert tree.smooth.loadings.shape == (40, 30)
    assert tree.pruning.removed == ()
    np.testing.assert_array_equal(tree.pruning.graph.nodes, tree.nodes)
    assert stays(tree, rows)
    np.testing.assert_allclose(
        tree.pruning.assignment(tree.whole.assignment, tree.embedding).toarray(), tree.assignment.toarray()
    )


@pytest.mark.filterwarnings("ignore:.*the trees from")
def test_new_rows_lie_where_cells_are_ingested(learned):
    tree, new = learned
    method = tree.recipe.method
    reference, cells = ad.AnnData(X[:150].copy()), ad.AnnData(new.copy())
    getattr(st.tl, method)(reference, n_starts=2)
    st.tl.order(reference, root=0, key=method)
    st.tl.ingest(cells, reference, key=method)
    np.testing.assert_allclose(tree.transform(new), cells.obsm[f"X_{method}"], atol=1e-9)


def test_the_recipe_learns_it_again(learned):
    tree, _ = learned
    alone = core.learn_tree(X[:150], tree.recipe.method, n_starts=1)
    again = alone.recipe.learn(X[:150], np.ones(150, dtype=int), 0)
    np.testing.assert_array_equal(again.whole.nodes, alone.whole.nodes)
    np.testing.assert_array_equal(again.fit.nodes, alone.fit.nodes)
    sure = core.stability(tree.graph, tree.embedding, X[:150], tree.recipe, root=0, n_replicates=2)
    assert len(sure.branch_support) == len(tree.graph.branches)


def test_what_is_told_of_the_progress():
    steps, counts, rounds = [], [], []
    core.learn_tree(X, n_starts=3, step=steps.append, count=lambda *done: counts.append(done))
    assert steps == ["denoising"]
    # those from the starts, the last, and of parts of the rows four with more equal noise; these agree, and the four
    # with noise as it is are left out
    assert [done for done, _ in counts] == list(range(1, 9))
    assert {total for _, total in counts[:3]} == {12}
    assert counts[-1] == (8, 8)
    counts.clear()  # of nothing but noise they do not, and starts that were begun meanwhile are made again
    noise = np.random.default_rng(0).standard_normal((120, 6))
    core.learn_tree(noise, n_starts=3, count=lambda *done: counts.append(done))
    assert [done for done, _ in counts] == list(range(1, len(counts) + 1))
    assert counts[:4] == [(i, 12) for i in range(1, 5)]
    assert counts[-1] in [(i, i) for i in range(12, 16)]
    core.learn_tree(X, n_starts=1, step=steps.append, callback=lambda *at: rounds.append(at))
    assert steps[1:] == ["denoising", "pruning"]
    assert rounds[0][0] == 0
    stopped = core.learn_tree(X, n_starts=1, callback=lambda i, objective: i == 2)
    assert stopped.fit.n_iter == 2


def test_it_prints_short(learned):
    lines = repr(learned[0]).splitlines()
    assert lines[0] == "LearnedTree"
    assert all(len(line) <= 100 for line in lines)
    assert any(line.split()[0] == "agreement" for line in lines)


def test_every_argument_of_tl_reaches_it():
    """What `tl` has beside its own arguments is either one of this function or of the method's."""
    of_tl = {"adata", "use_rep", "layer", "key_added", "progress", "copy"}
    for method in METHODS:
        own = set(inspect.signature(core.learn_tree).parameters) | set(
            inspect.signature(core.METHODS[method].fit).parameters
        )
        assert set(inspect.signature(getattr(st.tl, method)).parameters) - of_tl <= own


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (dict(method="drtree"), ValueError, r"method='drtree' is not known\. Available: \['ddrtree', 'principal_tree'"),
        (dict(nodes=5), TypeError, r"ddrtree has no argument 'nodes'\. Available: \['n_nodes', 'lam'"),
        (dict(method="principal_tree", lam=2.0), TypeError, "principal_tree has no argument 'lam'"),
        (dict(method="principal_tree", n_components=3), ValueError, "n_components=3 with method='principal_tree'"),
        (
            dict(method="principal_tree", init=X[:9], denoise=5),
            ValueError,
            r"denoise=5 with init; wanted denoise=False",
        ),
        (
            dict(n_components="many"),
            ValueError,
            r"n_components='many' is not known\. Available: \['auto'\], a number or a share of the variance",
        ),
        (dict(n_components=99), ValueError, "n_components=99 is out of range"),
        (dict(denoise="yes"), TypeError, "denoise='yes' is a str; wanted 'auto', True, False, a number or a dict"),
        (dict(denoise={"k": 3}), ValueError, r"denoise='k' is not known\. Available: \['n_neighbors'"),
        (
            dict(prune="yes"),
            ValueError,
            r"prune='yes' is not known\. Available: \[True, False, 'auto'\], or a dict of some of \['min_gain'",
        ),
        (
            dict(prune={"gain": 3}),
            ValueError,
            r"prune='gain' is not known\. Available: \['min_gain', 'n_tips', 'resolution'\]",
        ),
        (dict(prune={"min_gain": -1}), ValueError, "min_gain=-1 is out of range"),
        (dict(n_starts=0), ValueError, "n_starts=0 is out of range"),
        (dict(rng="seed"), TypeError, "rng='seed' is a str"),
        (dict(kernel="precomputed", denoise=True), ValueError, "denoise=True with a kernel matrix"),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else "",
)
def test_errors(given, error, words):
    steps = []
    with pytest.raises(error, match=words):
        core.learn_tree(X, step=steps.append, **given)
    assert steps == []  # before any work is done


@pytest.mark.parametrize("rows", [X[0], X[:2], np.where(X > 0, np.nan, X), ad.AnnData(X)])
def test_input_that_is_no_matrix(rows):
    with pytest.raises((TypeError, ValueError), match="^my rows (has|holds|is an AnnData)"):
        core.learn_tree(rows, name="my rows")


def test_new_rows_of_other_columns(learned):
    with pytest.raises(ValueError, match="X has 3 columns"):
        learned[0].transform(X[:4, :3])


def test_new_rows_of_other_columns_where_nothing_is_denoised():
    tree = core.learn_tree(X, "principal_tree", denoise=False, n_starts=1)
    with pytest.raises(ValueError, match="X has 3 columns; the fit was made with 8"):
        tree.transform(X[:4, :3])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_constant_columns_do_not_matter(kind):
    alone = core.learn_tree(X, n_starts=1)
    beside = core.learn_tree(kind(np.hstack([X, np.full((len(X), 3), 2.0)])), n_starts=1)
    assert beside.embedding.shape == alone.embedding.shape
    np.testing.assert_array_equal(beside.graph.edges, alone.graph.edges)
    np.testing.assert_allclose(np.abs(beside.embedding), np.abs(alone.embedding), atol=1e-8)


@pytest.mark.parametrize("method", ["ddrtree", "principal_tree"])
@pytest.mark.parametrize(
    "named", [dict(max_iter=200), dict(tol=1e-5), dict(denoise={"equalize": "auto"}), dict(n_starts=5)]
)
def test_to_name_a_default_changes_nothing(method, named):
    X = noisy(300).X
    default, learned = core.learn_tree(X, method), core.learn_tree(X, method, **named)
    np.testing.assert_array_equal(learned.whole.nodes, default.whole.nodes)
    np.testing.assert_array_equal(learned.tips.value, default.tips.value)
    assert learned.smooth.equalized == default.smooth.equalized
