"""The test along skeletons that are learned from one part of the counts."""

import numpy as np
import pytest
from scipy import sparse

from skeltraj import core

N, GENES = 300, 60


def line_of(values):
    """A straight line along the first principal component of the logarithms, and the cells on it."""
    X = np.log1p(values.toarray() if sparse.issparse(values) else values)
    X = X - X.mean(axis=0)
    score = X @ np.linalg.svd(X, full_matrices=False)[2][0]
    nodes = np.linspace(score.min(), score.max(), 5)[:, None] * [1.0, 0.0]
    graph = core.Graph(nodes, np.array([[0, 1], [1, 2], [2, 3], [3, 4]]))
    return graph, core.locate(graph, np.column_stack([score, np.zeros(len(score))]))


@pytest.fixture(scope="module")
def counts():
    """Genes with one mean everywhere, but for the first five, which rise along a line that no one is told."""
    rng = np.random.default_rng(0)
    time = rng.random(N)
    mean = np.tile(np.exp(rng.uniform(-1, 2, GENES)), (N, 1))
    mean[:, :5] = 4 * np.exp(2 * (time[:, None] - 0.5))
    return sparse.csr_matrix(rng.negative_binomial(1 / 0.8, 1 / (1 + 0.8 * mean)).astype(np.float32))


def split(counts, learn=line_of, **more):
    graph, position = line_of(counts)
    return core.split_association(counts, core.tree_basis(graph, position), position, learn, **more)


@pytest.mark.compiled("takes minutes")
def test_is_what_its_parts_give(counts):
    """Step by step with public functions, from the dispersions that it says."""
    given = []

    def learn(part):
        given.append(part)
        return line_of(part)

    result = split(counts, learn, n_splits=2, rng=5)
    assert len(given) == 3  # the first is for the dispersions
    streams = np.random.default_rng(5).spawn(3)
    for i in range(2):
        part, rest = core.thin_counts(counts, result.dispersion, 0.5, streams[i + 1])
        assert (part != given[i + 1]).nnz == 0
        graph, position = line_of(part)
        alone = core.association(rest, core.tree_basis(graph, position), position, int(graph.tips[0]))
        np.testing.assert_allclose(result.p_values[i], alone.p_value, rtol=1e-6)
    np.testing.assert_allclose(
        result.p_value,
        np.minimum(1.08 * (0.5 - np.arctan(np.tan(np.pi * (0.5 - result.p_values)).mean(axis=0)) / np.pi), 1),
        rtol=1e-6,
    )


@pytest.mark.compiled("takes minutes")
def test_genes_that_change_nowhere_keep_their_level(counts):
    """Where nothing changes a line follows the errors of the genes: along it many of them seem to change."""
    null = counts[:, 5:]
    graph, position = line_of(null)
    naive = core.association(null, core.tree_basis(graph, position), position, 0)
    result = split(null)
    assert np.mean(naive.p_value < 0.05) > 0.25
    assert np.mean(result.p_value < 0.05) < 0.12
    assert np.abs(np.median(result.dispersion) - 0.8) < 0.15


@pytest.mark.compiled("takes minutes")
def test_genes_that_change_are_found(counts):
    result = split(counts)
    assert np.sort(result.p_value[:5])[3] < 0.02
    assert np.median(result.score[:5]) > 2 * np.median(result.score[5:])


def test_some_genes_and_some_points(counts):
    used = np.arange(N) % 7 > 0
    whole = split(counts, n_splits=2, used=used)
    part = split(counts, n_splits=2, used=used, tested=np.array([3, 40]), names=[f"gene{j}" for j in range(GENES)])
    np.testing.assert_allclose(part.p_values, whole.p_values[:, [3, 40]], rtol=1e-6)
    assert part.dispersion.shape == (GENES,)


@pytest.mark.compiled("takes minutes")
def test_dense_counts_and_generator(counts):
    one = split(counts, n_splits=2, rng=3)
    two = split(counts.toarray(), n_splits=2, rng=np.random.default_rng(3))
    np.testing.assert_allclose(one.p_value, two.p_value, rtol=1e-4)  # the line is that of float32


@pytest.mark.compiled("takes minutes")
def test_rare_and_absent_genes(counts):
    """A gene of one cell is in one part or the other; one of none has no p-value."""
    rare = sparse.csr_matrix((np.ones(1), ([0], [0])), (N, 2))
    result = split(sparse.hstack([counts, rare]).tocsr(), n_splits=6)
    here = np.isfinite(result.p_values[:, GENES])
    assert 0 < here.sum() < 6
    assert np.isfinite(result.p_value[GENES])
    assert np.isnan(result.p_value[GENES + 1])
    assert np.isnan(result.score[GENES + 1])


@pytest.mark.compiled("takes minutes")
def test_says_how_far_it_is(counts):
    said = []
    split(counts, n_splits=2, callback=lambda done, total: said.append((done, total)))
    assert said == [(1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"n_splits": 0}, ValueError, "n_splits=0 is out of range"),
        ({"share": 1.5}, ValueError, "share=1.5 is out of range"),
        ({"tested": np.array([GENES])}, ValueError, f"tested: there is no {GENES} among {GENES} genes"),
        ({"learn": lambda part: line_of(part[:-1])}, ValueError, f"positions of {N - 1} points; wanted {N}"),
    ],
)
def test_what_is_refused(counts, more, error, words):
    with pytest.raises(error, match=words):
        split(counts, **more)
