"""What the estimators take in: masked values, sparse rows far from the origin, kernels, fits that fail."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from skeltraj import estimators


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return np.c_[np.linspace(0, 9, 90), np.zeros((90, 2))] + 0.2 * rng.standard_normal((90, 3))


@pytest.mark.parametrize("name", estimators.__all__)
def test_masked_values_are_refused(name, X):
    masked = np.ma.array(X, mask=np.arange(270).reshape(90, 3) == 7)
    with pytest.raises(ValueError, match=r"X has 1 masked value\(s\); wanted all of them"):
        getattr(estimators, name)().fit(masked)
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match=r"X has 1 masked value\(s\); wanted all of them"):
        getattr(estimators, name)().fit(da.from_array(masked, chunks=(30, 3), asarray=False))


def test_masked_new_rows_are_refused(X):
    fitted = estimators.PrincipalTree().fit(X)
    for method in (fitted.transform, fitted.predict):
        with pytest.raises(ValueError, match="masked"):
            method(np.ma.array(X[:5], mask=np.arange(15).reshape(5, 3) == 0))
    np.testing.assert_array_equal(fitted.predict(np.ma.array(X)), fitted.predict(X))  # nothing is masked


@pytest.mark.parametrize("name", ["PrincipalTree", "PrincipalGraph", "DDRTree"])
@pytest.mark.parametrize("far", [0.0, 1e7])
def test_the_nearest_node_of_sparse_rows(name, far, X):
    X[:, 1] += far
    fitted = getattr(estimators, name)(n_nodes=12).fit(X)
    space = fitted.transform(X) if name == "DDRTree" else X
    nearest = ((space[:, None] - fitted.nodes_) ** 2).sum(axis=2).argmin(axis=1)
    for given in (X, sparse.csr_array(X), sparse.csr_matrix(X)):
        np.testing.assert_array_equal(fitted.predict(given), nearest)


def test_a_kernel_in_cross_validation(X):
    K, y = X @ X.T, np.arange(90) // 45
    learner = estimators.TreeLearner(method_params={"kernel": "precomputed"}, n_components=2)
    assert learner.__sklearn_tags__().input_tags.pairwise
    assert not estimators.TreeLearner(method_params=3).__sklearn_tags__().input_tags.pairwise  # an error of the fit
    scores = cross_val_score(make_pipeline(learner, KNeighborsClassifier()), K, y, cv=3)
    assert scores.min() > 0.6


@pytest.mark.parametrize("name", ["DDRTree", "MPME"])
def test_a_fit_that_fails_leaves_none(name, X):
    fitted = getattr(estimators, name)().fit(X)
    with pytest.raises(ValueError, match="n_components=99"):
        fitted.set_params(n_components=99).fit(X[:, :2])
    assert not [name for name in vars(fitted) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        check_is_fitted(fitted)
    with pytest.raises(ValueError, match="minimum of 3 is required"):  # by scikit-learn, after it has counted features
        getattr(estimators, name)().fit(X[:2])
    reads = [lambda: fitted.embedding_, lambda: fitted.graph_]
    reads += [lambda: fitted.transform(X)] if name == "DDRTree" else [lambda: fitted.similarity_]
    for read in reads:
        with pytest.raises(NotFittedError, match=f"This {name} instance is not fitted yet"):
            read()
