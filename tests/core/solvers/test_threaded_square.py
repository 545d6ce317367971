"""Dense squares by threads, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from comparing import close
from skeltraj.core._runtime.threads import computing
from skeltraj.core._solvers.threaded_square import gram, invert_factor

SIZES = [1, 2, 100, 127, 128, 129, 300, 513, 700]


def laplacian_and_more(n):
    """Positive definite, none of its entries above zero but on the diagonal."""
    rng = np.random.default_rng(n)
    weights = np.triu(10.0 ** rng.uniform(-3, 1, (n, n)) * (rng.random((n, n)) < 0.5), 1)
    weights += weights.T
    return np.diag(weights.sum(axis=1) + 0.1) - weights


@pytest.mark.parametrize("n", SIZES)
def test_the_inverse_of_the_factor_and_the_inverse(n):
    Q = laplacian_and_more(n)
    D, inverse = np.tril(Q), np.full((n, n), np.nan)  # nothing above the diagonal is read
    assert invert_factor(D)
    close(D, np.linalg.inv(np.linalg.cholesky(Q)), 1e-10)
    assert not np.triu(D, 1).any()
    gram(D, inverse)
    close(inverse, np.linalg.inv(Q), 1e-10)
    np.testing.assert_array_equal(inverse, inverse.T)


def test_any_number_of_threads_gives_the_same_to_the_last_bit(monkeypatch):
    found = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        monkeypatch.setattr("os.sched_getaffinity", lambda _: range(8), raising=False)
        D = laplacian_and_more(700)
        inverse = np.empty_like(D)
        with computing():
            assert invert_factor(D)
            gram(D, inverse)
        found.append((D, inverse))
    for D, inverse in found[1:]:
        np.testing.assert_array_equal(D, found[0][0])
        np.testing.assert_array_equal(inverse, found[0][1])


@pytest.mark.parametrize("place", [0, 130, 299])
@pytest.mark.parametrize("value", [-1.0, 0.0, np.nan])
def test_what_is_not_positive_definite_is_told(place, value):
    Q = laplacian_and_more(300)
    Q[place, place] = value
    assert not invert_factor(Q)
