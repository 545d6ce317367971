"""Fits with several starts, of any kind of input."""

from __future__ import annotations

import importlib
import time
from dataclasses import replace
from functools import wraps
from threading import Lock

import anndata as ad
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import oracles
import skeltraj as st
from samples import cells, noisy
from skeltraj import get, tl
from stored import same, snapshot, written, written_and_read

METHODS = ["ddrtree", "principal_tree"]


def branch_of_each(adata, method):
    graph = st.get.graph(adata, method)
    at = st.core.locate(graph, adata.obsm[f"X_{method}"])
    return [next(i for i, path in enumerate(graph.branches) if edge in graph.edges_along(path)) for edge in at.edge]


@pytest.mark.parametrize("method", METHODS)
def test_the_tree_most_like_the_others_is_taken(method):
    adata, fit = noisy(noise=0.15, seed=0), getattr(st.tl, method)
    # starts are compared with one another alone, and go on to their end
    given = {"prune": {"min_gain": 0.008}, "max_iter": 199}
    fit(adata, n_starts=4, rng=7, **given)
    seeds = [7, *np.random.default_rng(7).spawn(3)]
    alone = [fit(noisy(noise=0.15, seed=0), n_starts=1, rng=seed, copy=True, **given) for seed in seeds]
    parts = [branch_of_each(learned, method) for learned in alone]
    alike = [
        np.mean([oracles.agreement(mine, theirs) for j, theirs in enumerate(parts) if j != i])
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
    adata = noisy(noise=0.15, seed=0)
    order = np.random.default_rng(3).permutation(adata.n_obs)
    turned = adata[order].copy()
    for version in (adata, turned):
        getattr(st.tl, method)(version)
    np.testing.assert_array_equal(turned.uns[method]["nodes"], adata.uns[method]["nodes"])
    np.testing.assert_array_equal(turned.uns[method]["agreement"], adata.uns[method]["agreement"])
    pd.testing.assert_frame_equal(turned.uns[method]["tip_choice"], adata.uns[method]["tip_choice"])
    np.testing.assert_array_equal(turned.obsm[f"X_{method}"], adata.obsm[f"X_{method}"][order])


@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_it_is_kept_on_disk_and_through_pruning(kind, tmp_path):
    adata = noisy(noise=0.15, seed=0)
    st.tl.ddrtree(adata, n_starts=3)
    choice = adata.uns["ddrtree"]["tip_choice"].copy()
    assert choice.columns.tolist() == ["agreement", "gain", "value"]
    assert choice.index.name == "n_tips"
    assert choice.index.tolist() == [str(2 + i) for i in range(len(choice))]
    assert len(st.get.graph(adata).tips) == int(choice["value"].idxmax())
    st.tl.prune(adata, min_gain=0)
    back = written_and_read(adata, kind, tmp_path)
    pd.testing.assert_frame_equal(back.uns["ddrtree"]["tip_choice"], choice, check_index_type=False)
    np.testing.assert_array_equal(back.uns["ddrtree"]["agreement"], adata.uns["ddrtree"]["agreement"])


def test_when_one_start_fails_those_at_work_end_early(monkeypatch):
    """The others would otherwise run for ever: their objective is never allowed to settle."""
    began, lock = [], Lock()

    @wraps(st.core.ddrtree)
    def endless(matrix, n_components, *, callback, rng, **_):
        with lock:
            began.append(rng)
            first = len(began) == 1
        while first and len(began) < 2:
            time.sleep(0.001)
        if first:
            raise KeyboardInterrupt
        while not callback(0, 0.0):
            time.sleep(0.001)
        raise KeyboardInterrupt  # whichever of both is raised by who waits

    monkeypatch.setitem(st.core.METHODS, "ddrtree", replace(st.core.METHODS["ddrtree"], fit=endless))
    monkeypatch.setattr("skeltraj.core._runtime.threads.n_threads", lambda: 2)
    adata = noisy(60, noise=0.15, seed=0)
    before = snapshot(adata)
    with pytest.raises(KeyboardInterrupt):
        st.tl.ddrtree(adata)
    assert len(began) < 5
    same(adata, before)


@pytest.mark.parametrize("kind", ["sparse", "dask", "backed", "float32"])
def test_other_kinds_of_input_give_the_same(kind, tmp_path):
    adata = noisy(300, noise=0.3, seed=0)
    other = adata.copy()
    tolerance = 1e-6
    if kind == "sparse":
        other.X = sparse.csr_matrix(other.X)
    elif kind == "dask":
        other.X = pytest.importorskip("dask.array").from_array(other.X, chunks=(90, -1))
    elif kind == "backed":
        other.write_h5ad(tmp_path / "a.h5ad")
        other = ad.read_h5ad(tmp_path / "a.h5ad", backed="r")
    else:
        other.X, tolerance = other.X.astype(np.float32), 1e-3
    st.tl.ddrtree(adata, 3)
    st.tl.ddrtree(other, 3)
    assert len(adata.uns["ddrtree"]["pruned"]["report"])
    np.testing.assert_allclose(np.asarray(other.obsm["X_ddrtree"]), adata.obsm["X_ddrtree"], atol=tolerance)
    np.testing.assert_array_equal(other.uns["ddrtree"]["edges"], adata.uns["ddrtree"]["edges"])
    R = st.get.assignment(other)
    np.testing.assert_allclose(R.toarray(), adata.obsm["ddrtree_assignment"].toarray(), atol=20 * tolerance)


@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore:Names in the index", "ignore:.*is in doubt")  # much noise
def test_an_object_that_is_read_lazily(kind, tmp_path):
    pytest.importorskip("xarray", reason="anndata reads lazily with xarray")
    if kind == "zarr":
        pytest.importorskip("zarr")
    if not hasattr(ad.experimental, "read_lazy"):
        pytest.skip("this anndata does not read lazily")
    adata = noisy(noise=0.3)
    lazy = ad.experimental.read_lazy(written(adata, kind, tmp_path / f"a.{kind}"))
    for version in (adata, lazy):
        st.tl.ddrtree(version, 3)
        st.tl.order(version, root=0)
    assert hasattr(lazy.obsm["X_ddrtree"], "compute")  # stays lazy
    np.testing.assert_allclose(np.asarray(lazy.obsm["X_ddrtree"]), adata.obsm["X_ddrtree"], atol=1e-8)
    np.testing.assert_allclose(np.asarray(lazy.obs["ddrtree_pseudotime"]), adata.obs["ddrtree_pseudotime"], atol=1e-8)
    assert lazy.uns["ddrtree"]["pruned"]["report"]["start"].tolist() == (
        adata.uns["ddrtree"]["pruned"]["report"]["start"].tolist()
    )
    assert repr(st.get.summary(lazy)) == repr(st.get.summary(adata))
    for version in (adata, lazy):
        st.tl.order(version, root={"stage": "stem"})
        drawn = st.pl.graph(version, color="stage", show=False)
        assert "stem" in [text.get_text() for text in drawn.get_legend().get_texts()]
        plt.close(drawn.figure)
    np.testing.assert_allclose(np.asarray(lazy.obs["ddrtree_pseudotime"]), adata.obs["ddrtree_pseudotime"], atol=1e-8)
    said = r"adata.obs is a Dataset2D, as anndata.experimental.read_lazy gives it; wanted .* adata.to_memory\(\)"
    for reads_more in (st.get.ordered, st.pl.dendrogram, st.pl.report):
        with pytest.raises(TypeError, match=said):
            reads_more(lazy)
    fitted = ad.experimental.read_lazy(written(adata, kind, tmp_path / f"fitted.{kind}"))
    with pytest.raises(TypeError, match=r"adata.uns\['ddrtree'\]\['starts'\] is a Dataset2D"):
        st.tl.order(fitted, root=0)
    for version in (adata, lazy):  # again, which removes the order
        st.tl.ddrtree(version, 3, n_nodes=30)
    assert set(lazy.obs.columns) == set(adata.obs.columns)
    np.testing.assert_allclose(np.asarray(lazy.obsm["X_ddrtree"]), adata.obsm["X_ddrtree"], atol=1e-8)


def test_tl_keeps_what_was_lazy_lazy(tmp_path):
    da = pytest.importorskip("dask.array")
    adata = cells(400)
    lazy = adata.copy()
    lazy.obsm["X_lazy"] = da.from_array(adata.X, chunks=(100, 6))
    tl.ddrtree(lazy, 3, use_rep="X_lazy")
    tl.ddrtree(adata, 3, use_rep="X")
    assert isinstance(lazy.obsm["X_ddrtree"], da.Array)
    assert isinstance(lazy.obsm["ddrtree_assignment"], da.Array)
    np.testing.assert_allclose(lazy.obsm["X_ddrtree"].compute(), adata.obsm["X_ddrtree"], atol=1e-8)
    for version in (lazy, adata):
        tl.order(version, root={"stage": "stem"})
    np.testing.assert_allclose(lazy.obs["ddrtree_pseudotime"], adata.obs["ddrtree_pseudotime"], atol=1e-7)
    del lazy.obsm["X_lazy"]
    lazy.write_h5ad(tmp_path / "a.h5ad")
    back = ad.read_h5ad(tmp_path / "a.h5ad")
    np.testing.assert_array_equal(back.obsm["X_ddrtree"], lazy.obsm["X_ddrtree"].compute())
    assert get.graph(back).is_tree


@pytest.mark.parametrize("method", METHODS)
def test_denoised_cells_are_not_held_while_storing(method, monkeypatch):
    """They take as much memory as the input, beside all that is stored."""
    storing = importlib.import_module("skeltraj.tl._fitting.fit_and_store")
    store, held = storing.store_skeleton, []

    def watched(adata, keys, learned, *others):
        held.append(learned.smooth.values)
        store(adata, keys, learned, *others)

    monkeypatch.setattr(storing, "store_skeleton", watched)
    adata = cells(90)
    getattr(st.tl, method)(adata, n_starts=1)
    assert held == [None]
    assert st.get.stored(adata, method)["denoise"]["reference"].shape[0] == 90
