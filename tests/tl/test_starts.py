"""Several starts: the tree that is most like the others, by its definition."""

from __future__ import annotations

import time
from threading import Lock

import anndata as ad
import numpy as np
import pytest

import skeltraj as st
from samples import cells
from skeltraj.core._branches.overlap import agreement
from stored import same, snapshot

METHODS = ["ddrtree", "principal_tree"]


def noisy(n=300, seed=0):
    adata = cells(n, seed=seed, n_features=8)
    adata.X += 0.15 * np.random.default_rng(seed).standard_normal(adata.shape)
    return adata


def branch_of_each(adata, method):
    graph = st.get.graph(adata, method)
    at = st.core.locate(graph, adata.obsm[f"X_{method}"])
    return [next(i for i, path in enumerate(graph.branches) if edge in graph.edges_along(path)) for edge in at.edge]


def literal_agreement(mine, theirs):
    """F1 of two divisions of the same cells, from the Jaccard index of every pair of sets."""
    sets = [[{i for i, here in enumerate(part) if here == name} for name in set(part)] for part in (mine, theirs)]
    best = [[max(len(a & b) / len(a | b) for b in other) for a in one] for one, other in (sets, sets[::-1])]
    recovery, relevance = map(np.mean, best)
    return 2 * recovery * relevance / (recovery + relevance)


def test_agreement_is_the_one_defined():
    rng = np.random.default_rng(0)
    for _ in range(20):
        mine, theirs = rng.integers(0, 4, 30), rng.integers(0, 3, 30)
        found = agreement(mine, theirs, 5, 4)  # some parts are empty
        assert found == pytest.approx(literal_agreement(mine.tolist(), theirs.tolist()))
        assert found == pytest.approx(agreement(theirs, mine, 4, 5))
    assert agreement(mine, 3 - mine, 4, 4) == 1  # other names, the same parts


@pytest.mark.parametrize("method", METHODS)
def test_the_tree_most_like_the_others_is_taken(method):
    adata, fit = noisy(), getattr(st.tl, method)
    fit(adata, n_starts=4, rng=7)
    seeds = [7, *np.random.default_rng(7).spawn(3)]
    alone = [fit(noisy(), n_starts=1, rng=seed, copy=True) for seed in seeds]
    parts = [branch_of_each(each, method) for each in alone]
    alike = [
        np.mean([literal_agreement(mine, theirs) for j, theirs in enumerate(parts) if j != i])
        for i, mine in enumerate(parts)
    ]
    np.testing.assert_allclose(adata.uns[method]["agreement"], alike, rtol=1e-12)
    assert np.ptp(alike) > 0.001  # there was something to choose
    best = alone[int(np.argmax(alike))]
    for name in ("nodes", "edges", "objective"):
        np.testing.assert_array_equal(adata.uns[method][name], best.uns[method][name])
    np.testing.assert_array_equal(adata.obsm[f"X_{method}"], best.obsm[f"X_{method}"])
    assert "agreement" not in best.uns[method]


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_the_cells_does_not_matter(method):
    adata = noisy()
    order = np.random.default_rng(3).permutation(adata.n_obs)
    turned = adata[order].copy()
    for each in (adata, turned):
        getattr(st.tl, method)(each)
    np.testing.assert_array_equal(turned.uns[method]["nodes"], adata.uns[method]["nodes"])
    np.testing.assert_array_equal(turned.uns[method]["agreement"], adata.uns[method]["agreement"])
    np.testing.assert_array_equal(turned.obsm[f"X_{method}"], adata.obsm[f"X_{method}"][order])


def test_when_there_is_one_start(monkeypatch):
    adata = noisy()
    st.tl.ddrtree(adata)
    assert adata.uns["ddrtree"]["agreement"].shape == (5,)
    for options in (dict(preset="monocle2"), dict(n_nodes=30), dict(init=adata.X[:, :2], n_components=2)):
        st.tl.ddrtree(adata, **options)
        assert "agreement" not in adata.uns["ddrtree"]
    st.tl.ddrtree(adata, n_nodes=30, n_starts=2)
    assert adata.uns["ddrtree"]["agreement"].shape == (2,)
    assert np.ptp(adata.uns["ddrtree"]["agreement"]) == 0
    monkeypatch.setattr(st.tl._fitting.options, "MOST", 299)
    st.tl.ddrtree(adata)
    assert "agreement" not in adata.uns["ddrtree"]


def test_it_is_kept_on_disk_and_through_pruning(tmp_path):
    adata = noisy()
    st.tl.ddrtree(adata, n_starts=3)
    st.tl.prune(adata, min_gain=0)
    adata.write_h5ad(tmp_path / "a.h5ad")
    back = ad.read_h5ad(tmp_path / "a.h5ad")
    np.testing.assert_array_equal(back.uns["ddrtree"]["agreement"], adata.uns["ddrtree"]["agreement"])


def test_errors():
    adata = noisy(60)
    with pytest.raises(ValueError, match="n_starts=0 is out of range; wanted a whole number from 1 up"):
        st.tl.ddrtree(adata, n_starts=0)
    with pytest.raises(ValueError, match=r"n_starts='many' is not known\. Available: \['auto'\]"):
        st.tl.ddrtree(adata, n_starts="many")
    with pytest.raises(ValueError, match=r"denoise='k' is not known\. Available"):
        st.tl.ddrtree(adata, denoise={"k": 5})
    with pytest.raises(ValueError, match="n_neighbors=99 is out of range"):
        st.tl.ddrtree(adata, denoise={"n_neighbors": 99})
    assert not adata.uns
    st.tl.ddrtree(adata, denoise={"n_neighbors": 4, "n_tangents": 0})
    assert adata.uns["ddrtree"]["denoise"]["axes"].shape == (60, 8, 0)


def test_when_one_start_fails_those_at_work_end_early(monkeypatch):
    """The others would otherwise run for ever: their objective is never allowed to settle."""
    began, lock = [], Lock()

    def endless(matrix, d, *, callback, rng, **_):
        with lock:
            began.append(rng)
            first = len(began) == 1
        while first and len(began) < 2:
            time.sleep(0.001)
        if first:
            raise KeyboardInterrupt
        while not callback(0, 0.0):
            time.sleep(0.001)
        raise RuntimeError("stopped")

    monkeypatch.setattr(st.core, "ddrtree", endless)
    monkeypatch.setattr("skeltraj.core._runtime.threads.n_threads", lambda: 2)
    adata = noisy(60)
    before = snapshot(adata)
    with pytest.raises(KeyboardInterrupt):
        st.tl.ddrtree(adata)
    assert len(began) < 5
    same(adata, before)
