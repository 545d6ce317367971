"""The estimators: scikit-learn's own checks, and that they say what the functions of `core` say."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from docstrings import described
from estimator_methods import METHOD_OF
from samples import forked
from skeltraj import estimators
from skeltraj.estimators._bases.embedding import EmbeddingEstimator

OF = {kind: method.fit for kind, method in METHOD_OF.items() if not method.joins_rows}
EMBEDDING = [kind for kind in OF if issubclass(kind, EmbeddingEstimator)]
every = pytest.mark.parametrize("kind", OF, ids=lambda kind: kind.__name__)
embedding = pytest.mark.parametrize("kind", EMBEDDING, ids=lambda kind: kind.__name__)

X, _, _ = forked(120, seed=1)
NEW, _, _ = forked(40, seed=2)


def sized(kind):
    """Few nodes, to be quick, where their number can be chosen."""
    return {} if METHOD_OF[kind].nodes_are_rows else dict(n_nodes=20)


def few(kind, **given):
    return kind(**sized(kind) | given)


def nearest(points, nodes):
    return ((points[:, None] - nodes) ** 2).sum(axis=2).argmin(axis=1)


# the checks bring data of their own, for some of which the default number of rounds is not enough
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([*(kind() for kind in OF), estimators.DDRTree(assignment="hard")])
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


@every
def test_arguments_are_those_of_the_function(kind):
    wanted = dict(inspect.signature(OF[kind]).parameters)
    for name in ("X", "callback", "name"):
        del wanted[name]
    if "rng" in wanted:
        wanted["random_state"] = wanted.pop("rng")
    own = inspect.signature(kind).parameters
    assert {name: (p.default, p.kind) for name, p in own.items()} == {
        name: (p.default, p.kind) for name, p in wanted.items()
    }


@every
def test_arguments_and_attributes_are_documented(kind):
    doc = inspect.getdoc(kind)
    assert described(doc, "Parameters") == list(inspect.signature(kind).parameters)
    fitted = few(kind).fit(pd.DataFrame(X).add_prefix("gene"))
    assert set(described(doc, "Attributes")) == {name for name in dir(fitted) if name.endswith("_") and name[0] != "_"}


@every
def test_fit_is_the_function(kind):
    fitted = few(kind).fit(X)
    result = OF[kind](X, **sized(kind))
    for name in [field.name for field in fields(result)] + ["embedding"]:
        own = fitted.components_.T if name == "loadings" else getattr(fitted, f"{name}_")
        value = getattr(result, name)
        if sparse.issparse(value):
            own, value = own.toarray(), value.toarray()
        np.testing.assert_equal(own, value)
    np.testing.assert_array_equal(fitted.transform(NEW), result.transform(NEW))
    np.testing.assert_array_equal(fitted.graph_.tips, result.graph.tips)


@every
def test_all_arguments_reach_the_function(kind):
    given = dict(max_iter=3, tol=0.0) | ({} if METHOD_OF[kind].nodes_are_rows else dict(n_nodes=7, random_state=5))
    with pytest.warns(ConvergenceWarning, match=f"{kind.__name__} stopped at max_iter, after 3 rounds"):
        fitted = kind(**given).fit(X)
    if "random_state" in given:
        given["rng"] = given.pop("random_state")
    np.testing.assert_array_equal(fitted.nodes_, OF[kind](X, **given).nodes)
    assert fitted.n_iter_ == 3
    assert not fitted.converged_


@every
def test_fitted_and_new_rows_are_placed_alike(kind):
    fitted = few(kind).fit(X)
    np.testing.assert_array_equal(few(kind).fit_transform(X), fitted.transform(X))
    np.testing.assert_allclose(fitted.transform(X)[5:9], fitted.transform(X[5:9]), atol=1e-12)


@every
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_predict_is_the_nearest_node(kind, offset):
    fitted = few(kind).fit(X + offset)
    points = fitted.transform(NEW + offset) if kind in EMBEDDING else NEW + offset
    np.testing.assert_array_equal(fitted.predict(NEW + offset), nearest(points, fitted.nodes_))


def test_predict_finds_the_fitted_rows_of_drtree():
    np.testing.assert_array_equal(estimators.DRTree().fit(X).predict(X), np.arange(len(X)))


@every
@pytest.mark.parametrize("form", [sparse.coo_array, sparse.csc_matrix], ids=lambda form: form.__name__)
def test_sparse_rows(kind, form):
    rows, new = np.where(X > 0, X, 0.0), np.where(NEW > 0, NEW, 0.0)
    fitted = few(kind).fit(form(rows))
    result = OF[kind](sparse.csr_matrix(rows), **sized(kind))
    np.testing.assert_array_equal(fitted.embedding_, result.embedding)
    np.testing.assert_array_equal(fitted.transform(form(new)), result.transform(sparse.csr_matrix(new)))
    np.testing.assert_array_equal(fitted.predict(form(new)), fitted.predict(new))


@every
def test_pickled_and_cloned(kind):
    fitted = few(kind).fit(X)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(NEW), fitted.transform(NEW))
    np.testing.assert_array_equal(again.predict(NEW), fitted.predict(NEW))
    assert again.result_.nodes is again.nodes_  # nothing is written twice
    fresh = clone(fitted)
    assert fresh.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        fresh.predict(NEW)


@every
def test_named_columns(kind):
    cells = pd.Index([f"cell{i}" for i in range(len(X))])
    frame = pd.DataFrame(X, index=cells).add_prefix("gene")
    fitted = few(kind).set_output(transform="pandas").fit(frame)
    placed = fitted.transform(frame)
    names = [f"{kind.__name__.lower()}{i}" for i in range(2)] if kind in EMBEDDING else list(frame.columns)
    assert list(placed.columns) == list(fitted.get_feature_names_out()) == names
    assert placed.index.equals(cells)
    assert list(fitted.feature_names_in_) == list(frame.columns)
    assert isinstance(fitted.predict(frame), np.ndarray)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(frame.iloc[:, ::-1])


@every
def test_in_a_pipeline(kind):
    pipeline = make_pipeline(StandardScaler(), few(kind)).fit(X)
    Z = StandardScaler().fit(X)
    np.testing.assert_array_equal(pipeline.predict(NEW), few(kind).fit(Z.transform(X)).predict(Z.transform(NEW)))


@embedding
def test_kernel_matrix(kind):
    centred = X - X.mean(axis=0)
    plain, kernel = few(kind).fit(centred), few(kind, kernel="precomputed").fit(centred @ centred.T)
    new = NEW - X.mean(axis=0)
    np.testing.assert_allclose(kernel.transform(new @ centred.T), plain.transform(new), atol=1e-8)
    np.testing.assert_array_equal(kernel.predict(new @ centred.T), plain.predict(new))
    assert get_tags(kernel).input_tags.pairwise  # so that a split for cross-validation takes rows and columns
    assert not get_tags(plain).input_tags.pairwise
    with pytest.raises(ValueError, match="square"):
        few(kind, kernel="precomputed").fit(X)


def test_random_state():
    fit = lambda seed: estimators.DDRTree(n_nodes=10, random_state=seed).fit(X).nodes_
    same = lambda a, b: np.testing.assert_array_equal(fit(a), fit(b))
    same(3, np.random.default_rng(3))
    same(np.int64(3), 3)
    same(np.random.RandomState(3), np.random.RandomState(3))
    np.random.seed(4)  # noqa: NPY002  what None stands for
    first = fit(None)
    assert not np.array_equal(first, fit(None))
    np.random.seed(4)  # noqa: NPY002
    np.testing.assert_array_equal(first, fit(None))
    np.random.seed(4)  # noqa: NPY002
    np.testing.assert_array_equal(first, fit(np.random))
    for seed, error, said in [
        ("seed", TypeError, "is a str"),
        (True, TypeError, "is a bool"),
        (-1, ValueError, "is no seed"),
    ]:
        with pytest.raises(error, match=f"random_state={seed!r} {said}; wanted a whole number from 0 up"):
            fit(seed)


@every
def test_bad_input_is_refused(kind):
    with pytest.raises(ValueError, match="minimum of 3 is required"):
        few(kind).fit(X[:2])
    failed = few(kind, max_iter=0)
    with pytest.raises(ValueError, match="max_iter=0 is out of range"):
        failed.fit(X)
    with pytest.raises(NotFittedError):
        failed.transform(X)
    with pytest.raises(ValueError, match="expecting 6 features"):
        few(kind).fit(X).predict(X[:, :4])
