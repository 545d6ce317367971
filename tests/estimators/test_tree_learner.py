"""The estimator of the whole recipe: scikit-learn's own checks, and that it says what `core.learn_tree` says."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from docstrings import described
from samples import forked
from skeltraj import core
from skeltraj._printing import listed
from skeltraj.core._branches.starts import StartSupport
from skeltraj.core._branches.tips import LITTLE_VALUE
from skeltraj.estimators import TreeLearner

X, arm, _ = forked(150, seed=1)
NEW, _, _ = forked(40, seed=2)
METHODS = ["ddrtree", "principal_tree"]
both = pytest.mark.parametrize("method", METHODS)


@pytest.fixture(scope="module", params=METHODS)
def tree(request):
    """A tree from two starts."""
    return TreeLearner(request.param, n_starts=2).fit(X)


# the checks bring data of their own, for some of which the default number of rounds is not enough, or without a tree
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:TreeLearner:UserWarning")
@parametrize_with_checks([TreeLearner(n_starts=2), TreeLearner("principal_tree"), TreeLearner(denoise=False)])
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


@both
def test_it_is_what_core_learns(method):
    made = core.learn_tree(X, method, rng=0)
    fitted = TreeLearner(method).fit(X)
    for name in ("nodes", "edges", "objective", "n_iter", "converged"):
        np.testing.assert_array_equal(getattr(fitted, f"{name}_"), getattr(made.fit, name))
    np.testing.assert_array_equal(fitted.embedding_, made.embedding)
    np.testing.assert_array_equal(fitted.assignment_.toarray(), made.assignment.toarray())
    np.testing.assert_array_equal(fitted.agreement_, made.agreement)
    np.testing.assert_array_equal(fitted.pruning_.place, made.pruning.place)
    np.testing.assert_array_equal(fitted.transform(NEW), made.transform(NEW))
    assert fitted.recipe_ == made.recipe
    assert fitted.params_ == made.fit.params
    assert isinstance(fitted.result_, core.LearnedTree)


def test_it_warns_of_what_speaks_against_the_tree():
    noise = np.random.default_rng(3).standard_normal((90, 8))
    made = core.learn_tree(noise)
    assert f"agreement {made.agreement.max():.2f}" in made.doubt
    lost = made.graph.branch_names[made.starts.found < 0.5]
    assert f"Most of them lack {listed(lost.tolist())}." in made.doubt
    with pytest.warns(UserWarning, match="TreeLearner: the trees from other starts and .* differ: agreement"):
        TreeLearner().fit(noise)
    few = replace(made, agreement=np.full(5, 0.9))  # on all else they agree
    assert few.doubt.startswith(f"most of the trees from other starts and from parts of the rows lack {lost[0]} ")
    alike = replace(few, starts=StartSupport(made.starts.support, np.ones_like(made.starts.found)))
    assert made.tips.is_doubtful
    value = made.tips.value.max()
    assert f"the number of tips, {made.tips.chosen}, is in doubt: its value is {value:.2f}" in alike.doubt
    clear = replace(alike, tips=replace(made.tips, value=np.full_like(made.tips.value, LITTLE_VALUE)))
    assert clear.doubt is None
    line = replace(clear, starts=StartSupport(made.starts.support, np.ones_like(made.starts.found), 0.31))
    assert "a line, but the trees from other starts and from parts of the rows order the rows differently" in line.doubt
    assert "rank correlation 0.31 on average" in line.doubt
    both_said = replace(line, starts=replace(made.starts, order=0.31)).doubt
    assert both_said.startswith("most of the trees from other starts")
    assert both_said.endswith(f" Also, {line.doubt}")
    turn = np.linspace(0, 6, 300)
    ring = core.learn_tree(np.column_stack([np.cos(turn), np.sin(turn)]))
    assert "a line whose ends are near each other" in ring.doubt or "order the rows differently" in ring.doubt
    assert core.learn_tree(X).doubt is None
    assert " ".join(line.doubt.split()) in " ".join(repr(line).split())
    assert "in doubt" not in repr(clear)
    assert len(made.whole.graph.branches) > len(made.graph.branches)
    assert repr(replace(made, fit=made.whole)).startswith("LearnedTree")  # its support is that of another tree
    assert core.learn_tree(noise, n_starts=1).doubt is None


@pytest.mark.parametrize("given", [np.asarray, pd.DataFrame, sparse.csr_matrix, lambda X: X.tolist()])
def test_it_warns_of_raw_counts_before_it_learns(given):
    counts = np.random.default_rng(0).negative_binomial(0.3, 0.02, (60, 8))
    learner = TreeLearner(n_starts=1, prune=False, method_params={"sigma": -1.0})
    said = r"TreeLearner: X looks like raw counts \(whole numbers, up to \d+ in the rows examined\)"
    with pytest.warns(UserWarning, match=said), pytest.raises(ValueError, match="sigma"):
        learner.fit(given(counts))
    with pytest.raises(ValueError, match="sigma"):  # and warns of nothing
        learner.fit(given(np.log1p(counts)))


def test_arguments_reach_the_function():
    given = dict(n_components=3, denoise={"n_neighbors": 5}, n_nodes=20, n_starts=1, prune={"min_gain": 0.05})
    more = dict(sigma=0.05, assignment="soft", max_iter=3, tol=0.0)
    with pytest.warns(ConvergenceWarning, match="TreeLearner stopped at max_iter, after 3 rounds"):
        fitted = TreeLearner(**given, method_params=more, random_state=7).fit(X)
    made = core.learn_tree(X, **given, **more, rng=7)
    np.testing.assert_array_equal(fitted.nodes_, made.nodes)
    assert fitted.recipe_.denoise["n_neighbors"] == 5
    assert fitted.pruning_.min_gain == 0.05
    assert fitted.agreement_ is None


def test_a_principal_tree_has_no_components_of_its_own():
    learner = TreeLearner("principal_tree", n_components=2, n_starts=1).fit(X)
    assert learner.nodes_.shape[1] == X.shape[1]


def test_arguments_have_the_defaults_of_the_function():
    of_core = inspect.signature(core.learn_tree).parameters
    own = inspect.signature(TreeLearner).parameters
    for name in ("method", "n_components", "denoise", "n_starts", "prune"):
        assert own[name].default == of_core[name].default
    assert own["n_nodes"].default == inspect.signature(core.ddrtree).parameters["n_nodes"].default


def test_arguments_and_attributes_are_documented():
    doc = inspect.getdoc(TreeLearner)
    assert described(doc, "Parameters") == list(inspect.signature(TreeLearner).parameters)
    fitted = TreeLearner(n_starts=1).fit(pd.DataFrame(X).add_prefix("gene"))
    assert set(described(doc, "Attributes")) == {name for name in dir(fitted) if name.endswith("_") and name[0] != "_"}


def test_branches_are_those_of_the_arms(tree):
    assert len(tree.graph_.branches) == 3
    table = np.zeros((3, 3))
    np.add.at(table, (arm, tree.branch_), 1)
    assert table.max(axis=1).sum() > 0.85 * len(X)
    assert len(set(table.argmax(axis=1))) == 3
    again = tree.predict_branch(X)
    assert (again == tree.branch_).mean() > 0.95
    assert again.dtype.kind == "i"


def test_predict_is_the_nearest_node(tree):
    points = tree.transform(NEW)
    nearest = ((points[:, None] - tree.nodes_) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(tree.predict(NEW), nearest)


def test_in_a_pipeline(tree):
    pipeline = make_pipeline(StandardScaler(), clone(tree)).fit(X)
    scaler = StandardScaler().fit(X)
    alone = clone(tree).fit(scaler.transform(X))
    np.testing.assert_array_equal(pipeline.transform(NEW), alone.transform(scaler.transform(NEW)))
    pipeline.set_params(treelearner__n_nodes=15, treelearner__method_params={"max_iter": 50})
    assert len(pipeline.fit(X)[-1].nodes_) == 15


def test_cloned_and_pickled(tree):
    again = pickle.loads(pickle.dumps(tree))
    np.testing.assert_array_equal(again.transform(NEW), tree.transform(NEW))
    np.testing.assert_array_equal(again.predict_branch(NEW), tree.predict_branch(NEW))
    fresh = clone(tree)
    assert fresh.get_params() == tree.get_params()
    for call in (fresh.predict, fresh.predict_branch, fresh.transform):
        with pytest.raises(NotFittedError):
            call(NEW)


def test_parameters_can_be_searched():
    learner = TreeLearner(n_starts=1)
    sizes = [
        clone(learner).set_params(**given).fit(X).nodes_.shape
        for given in ParameterGrid({"n_nodes": [10, 20], "n_components": [2, 3]})
    ]
    assert sorted(sizes) == [(10, 2), (10, 3), (20, 2), (20, 3)]


@both
@pytest.mark.parametrize("kind", ["sparse", "float32"])
def test_sparse_and_single_precision(method, kind):
    rows = np.where(X > 0, X, 0.0)
    given = sparse.coo_array(rows) if kind == "sparse" else rows.astype(np.float32)
    # the last digits decide which rows are in a part, and parts what becomes of noise that has no directions
    learner = TreeLearner(method, n_starts=1, denoise={"equalize": False})
    plain, fitted = clone(learner).fit(rows), learner.fit(given)
    assert fitted.nodes_.shape == plain.nodes_.shape
    np.testing.assert_allclose(fitted.nodes_, plain.nodes_, atol=1e-3 if kind == "float32" else 1e-6)
    placed = fitted.transform(given)
    assert placed.dtype == np.float64
    np.testing.assert_allclose(placed, fitted.transform(rows), atol=1e-3)


def test_named_columns(tree):
    frame = pd.DataFrame(X).add_prefix("gene")
    fitted = clone(tree).set_output(transform="pandas").fit(frame)
    placed = fitted.transform(frame)
    assert list(placed.columns) == [f"treelearner{i}" for i in range(fitted.nodes_.shape[1])]
    assert list(fitted.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict_branch(frame.iloc[:, ::-1])


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (dict(method="mpme"), ValueError, r"method='mpme' is not known\. Available: \['ddrtree', 'principal_tree'"),
        (dict(method_params=3), TypeError, "method_params=3 is a int; wanted a dict or None"),
        (dict(method_params={"n_nodes": 9}), ValueError, r"method_params holds \['n_nodes'\]; wanted as arguments of"),
        (
            dict(method_params={"n_nodes": 9, 1: 2}),
            ValueError,
            r"method_params holds \['n_nodes'\]; wanted as arguments",
        ),
        (
            dict(method_params={"X": 1, "sigma": 1}),
            ValueError,
            r"method_params holds \['X'\]; wanted further arguments",
        ),
        (dict(method_params={"callback": None, 1: 2}), ValueError, r"method_params holds \['callback', 1\]; wanted"),
        (dict(method_params={"lamb": 9}), TypeError, "ddrtree has no argument 'lamb'"),
        (dict(n_components=99), ValueError, "n_components=99 is out of range"),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else "",
)
def test_errors(given, error, words):
    with pytest.raises(error, match=words):
        TreeLearner(**given).fit(X)
