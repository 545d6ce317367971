"""MPME and SPL as estimators: scikit-learn's own checks, and that they say what the functions of `core` say."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from docstrings import described
from estimator_methods import METHOD_OF
from samples import forked
from skeltraj import core, estimators

OF = {kind: method.fit for kind, method in METHOD_OF.items() if method.joins_rows}
every = pytest.mark.parametrize("kind", OF, ids=lambda kind: kind.__name__)
X, _, _ = forked(60, seed=1)


# the checks bring data of their own, in parts and with copies
@pytest.mark.filterwarnings("ignore:.*the similarities leave", "ignore:.*are the same as another")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        *(kind() for kind in OF),
        estimators.MPME(embed="laplacian", C=10.0),
        estimators.MPME(metric="precomputed"),
        estimators.MPME(metric="kernel"),
        estimators.SPL(gamma=0.0, scale="auto"),
    ]
)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


@every
def test_arguments_are_those_of_the_function(kind):
    wanted = dict(inspect.signature(OF[kind]).parameters)
    for name in ("X", "callback", "name", "distances", "kernel"):
        wanted.pop(name, None)
    own = dict(inspect.signature(kind).parameters)
    own.pop("metric", None)  # which stands for distances and kernel
    assert {name: (p.default, p.kind) for name, p in own.items()} == {
        name: (p.default, p.kind) for name, p in wanted.items()
    }


@every
def test_arguments_and_attributes_are_documented(kind):
    doc = inspect.getdoc(kind)
    assert described(doc, "Parameters") == list(inspect.signature(kind).parameters)
    fitted = kind().fit(pd.DataFrame(X).add_prefix("gene"))
    assert set(described(doc, "Attributes")) == {name for name in dir(fitted) if name.endswith("_") and name[0] != "_"}


@every
def test_fit_is_the_function(kind):
    fitted, result = kind().fit(X), OF[kind](X)
    for name in [field.name for field in fields(result)] + ["embedding", "similarity"]:
        own, value = getattr(fitted, f"{name}_"), getattr(result, name)
        if sparse.issparse(value):
            own, value = own.toarray(), value.toarray()
        np.testing.assert_equal(own, value)
    np.testing.assert_array_equal(kind().fit_transform(X), result.embedding)
    np.testing.assert_array_equal(fitted.graph_.edges, result.edges)
    assert isinstance(result.graph, core.Mesh)
    assert isinstance(fitted.graph_, core.Mesh)


@every
def test_all_arguments_reach_the_function(kind):
    given = dict(n_components=3, C=5.0, n_neighbors=4, max_iter=2, tol=1e-9)
    given |= dict(lam=0.5, embed="laplacian") if kind is estimators.MPME else dict(gamma=0.5, scale=2.0, center=False)
    with pytest.warns(ConvergenceWarning, match=f"{kind.__name__} stopped after 2 steps"):
        fitted = kind(**given).fit(X)
    result = OF[kind](X, **given)
    np.testing.assert_array_equal(fitted.nodes_, result.nodes)
    assert fitted.params_ == result.params


def test_metrics():
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    plain = estimators.MPME(lam=0.5).fit(X)
    for metric, given in (("precomputed", squares), ("kernel", X @ X.T)):
        other = estimators.MPME(lam=0.5, metric=metric)
        assert get_tags(other).input_tags.pairwise
        assert not get_tags(other).input_tags.sparse
        np.testing.assert_allclose(other.fit(given).value_, plain.value_, rtol=1e-6)
    assert not get_tags(plain).input_tags.pairwise
    with pytest.raises(ValueError, match="metric='cosine' is not known"):
        estimators.MPME(metric="cosine").fit(X)


def test_a_graph_for_spl():
    near = ((X[:, None] - X[None]) ** 2).sum(axis=2).argsort(axis=1)[:, 1:6]
    np.testing.assert_array_equal(
        estimators.SPL(neighbors=near).fit(X).similarity_.toarray(), core.spl(X, n_neighbors=5).similarity.toarray()
    )


@every
def test_pickled_cloned_and_in_a_pipeline(kind):
    fitted = kind().fit(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).embedding_, fitted.embedding_)
    assert clone(fitted).get_params() == fitted.get_params()
    few = kind(**(dict(scale=5.0) if kind is estimators.SPL else {}))
    placed = make_pipeline(StandardScaler(), few).fit_transform(X)
    np.testing.assert_array_equal(placed, clone(few).fit_transform(StandardScaler().fit_transform(X)))
