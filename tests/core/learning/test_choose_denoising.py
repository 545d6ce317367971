"""Which trees of parts are taken: with more equal noise, with noise as it is, or with tails compressed."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj import core
from skeltraj.core._branches.tips import TipChoice
from skeltraj.core._learning import choose_denoising
from skeltraj.core._learning.choose_denoising import is_better, is_sure, is_unclear
from skeltraj.core._learning.compress import may_be_heavy
from skeltraj.core._learning.parts import Parts


def told(chosen, *agreement, line=0.1):
    """Parts that agree so well with 2, 3, ... tips, and tell so many; and the value of a line."""
    parts = Parts([], np.arange(0), None)
    n_tips = np.arange(2, 2 + len(agreement))
    parts.__dict__["tips"] = TipChoice(n_tips, np.array(agreement), n_tips * 0.0, line / (n_tips - 1), chosen)
    return parts


@pytest.mark.parametrize(
    ("parts", "sure"),
    [
        (told(3, 1.0, 0.7, 0.5), True),
        (told(3, 1.0, 0.69, 0.9), False),
        (told(4, 1.0, 0.9, 0.71), True),
        (told(2, 1.0, 0.5, line=0.2), True),
        (told(2, 1.0, 0.9, line=0.19), False),
    ],
)
def test_what_tells_by_itself(parts, sure):
    assert is_sure(parts) is sure


@pytest.mark.parametrize(
    ("equal", "unequal", "better"),
    [
        (told(2, 1.0, 0.5, line=0.15), told(2, 1.0, 0.5, line=0.15), True),
        (told(2, 1.0, 0.5, line=0.15), told(2, 1.0, 0.5, line=0.16), False),
        (told(2, 1.0, 0.5), told(3, 1.0, 0.5), False),
        (told(3, 1.0, 0.6), told(2, 1.0, 0.5), False),
        (told(3, 1.0, 0.55), told(4, 1.0, 0.9, 0.8), True),
        (told(3, 1.0, 0.54), told(4, 1.0, 0.5, 0.4), False),
    ],
)
def test_what_tells_beside_the_others(equal, unequal, better):
    assert is_better(equal, unequal) is better


@pytest.mark.parametrize(
    ("parts", "unclear"),
    [
        (told(2, 1.0, 0.5, line=0.19), True),
        (told(2, 1.0, 0.5, line=0.2), False),
    ],
)
def test_what_tells_no_tree(parts, unclear):
    assert is_unclear(parts) is unclear


def bent(n=400, n_features=12, seed=1):
    """A line with noise that is normal but for two entries in a hundred, six times as large."""
    rng = np.random.default_rng(seed)
    t = np.sort(rng.random(n))
    X, noise = np.zeros((n, n_features)), rng.standard_normal((n, n_features))
    X[:, 0], X[:, 1] = 3 * t, np.sin(3 * t)
    noise[rng.random((n, n_features)) < 0.02] *= 6
    return (X + noise) @ np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]


@pytest.mark.compiled("whole recipes, with fits from several starts")
@pytest.mark.parametrize(
    ("asked", "unclear", "compressed"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"compress": False}, True, False),
        ({"equalize": True}, True, False),
        ({"equalize": False}, True, True),
    ],
)
def test_somewhat_heavy_tails_are_compressed_where_parts_tell_no_tree(monkeypatch, asked, unclear, compressed):
    X, counts = bent(), []
    assert may_be_heavy(core.denoise(X).reference)
    assert not core.denoise(X, compress="auto").compressed  # not so heavy that they always are
    monkeypatch.setattr(choose_denoising, "is_unclear", lambda parts: unclear)
    learned = core.learn_tree(X, denoise=asked, rng=3, count=lambda *done: counts.append(done))
    assert learned.smooth.compressed is compressed
    assert not (learned.smooth.compressed and learned.smooth.equalized)
    done, total = counts[-1]
    assert done == total
    if compressed:  # as if that had been asked for
        same = core.learn_tree(X, denoise={"compress": True, "equalize": False}, rng=3)
        np.testing.assert_array_equal(learned.graph.nodes, same.graph.nodes)
        np.testing.assert_array_equal(learned.tips.value, same.tips.value)


@pytest.mark.compiled("whole recipes")
def test_one_start_counts_nothing_even_where_trees_of_parts_are_learned_again(monkeypatch):
    counts = []
    monkeypatch.setattr(choose_denoising, "is_unclear", lambda parts: True)
    learned = core.learn_tree(bent(), n_starts=1, rng=3, count=lambda *done: counts.append(done))
    assert learned.smooth.compressed
    assert counts == []


@pytest.mark.compiled("whole recipes, with fits from several starts")
def test_tails_that_are_not_heavy_stay_as_they_are(monkeypatch):
    X = np.random.default_rng(0).standard_normal((400, 12)) * np.r_[4, 2, np.ones(10)]
    assert not may_be_heavy(core.denoise(X).reference)
    monkeypatch.setattr(choose_denoising, "is_unclear", lambda parts: True)
    assert not core.learn_tree(X).smooth.compressed
