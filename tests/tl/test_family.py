"""DRTree, principal trees and principal graphs for AnnData: what is stored, and the tools on general graphs."""

from __future__ import annotations

import anndata as ad
import networkx as nx
import numpy as np
import pytest
import scanpy as sc
from scipy import sparse

import skeltraj as st
from samples import cells, rings
from stored import same, snapshot

pytestmark = pytest.mark.filterwarnings("ignore:No lineage was found")  # loops have no tips
METHODS = ["drtree", "principal_tree", "principal_graph"]


@pytest.fixture
def adata():
    return cells()


@pytest.mark.parametrize("method", METHODS)
def test_stores_exactly_the_documented_keys(adata, method):
    before = snapshot(adata)
    plain = {"denoise": False, "n_starts": 1, "prune": False} if method == "principal_tree" else {}
    assert getattr(st.tl, method)(adata, **plain) is None
    fit = getattr(st.core, method)(adata.X)
    stored = adata.uns[method]
    np.testing.assert_array_equal(adata.obsm[f"X_{method}"], fit.embedding)
    names = {"nodes", "edges", "edge_length", "objective"} | ({"mean"} if method == "drtree" else {"weights"})
    assert set(stored) == names | {"params", "converged", "n_iter"} | ({"input"} if method != "drtree" else set())
    for name in names:
        np.testing.assert_array_equal(stored[name], getattr(fit, name))
    assert stored["params"]["method"] == method
    added = {"obsm": {f"X_{method}"}, "uns": {method}}
    if method == "drtree":
        added["varm"] = {"drtree_loadings"}
        np.testing.assert_array_equal(adata.varm["drtree_loadings"], fit.loadings)
    else:
        added["obsm"].add(f"{method}_assignment")
        assert (adata.obsm[f"{method}_assignment"] != fit.assignment).nnz == 0
    same(adata, before, but=added)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
@pytest.mark.filterwarnings("ignore:Writing zarr v2 data")
def test_everything_survives_writing_and_slicing(adata, method, kind, tmp_path):
    getattr(st.tl, method)(adata, key_added="mine")
    st.tl.order(adata, root=0, key="mine")
    getattr(adata, f"write_{kind}")(tmp_path / f"a.{kind}")
    back = getattr(ad, f"read_{kind}")(tmp_path / f"a.{kind}")
    same(back, adata)
    half = back[::2].copy()
    before = half.obs["mine_pseudotime"].to_numpy()
    st.tl.order(half, root=0, key="mine")  # the skeleton is whole, whatever cells are left
    np.testing.assert_allclose(half.obs["mine_pseudotime"], before)


@pytest.mark.parametrize("method", METHODS)
def test_inputs(adata, method):
    fit = getattr(st.tl, method)
    sc.pp.pca(adata, n_comps=4)
    fit(adata, key_added="a")
    assert adata.uns["a"]["params"]["use_rep"] == "X_pca"
    adata.layers["sparse"] = sparse.csr_matrix(adata.X)
    fit(adata, layer="sparse", key_added="b")
    fit(adata, use_rep="X", key_added="c")
    np.testing.assert_allclose(adata.obsm["X_b"], adata.obsm["X_c"], atol=1e-5)
    other = fit(adata, copy=True, key_added="d")
    assert "d" in other.uns
    assert "d" not in adata.uns


@pytest.mark.parametrize("method", METHODS)
def test_a_failed_or_stopped_fit_leaves_adata_as_it_was(adata, method, monkeypatch):
    fit = getattr(st.tl, method)
    before = snapshot(adata)
    with pytest.raises(KeyError, match="nowhere"):
        fit(adata, use_rep="nowhere")
    with pytest.raises(ValueError, match="tol=-1"):
        fit(adata, tol=-1)
    adata.obsm["X_mine"] = adata.X
    with pytest.raises(ValueError, match="would overwrite the input"):
        fit(adata, use_rep="X_mine", key_added="mine")
    del adata.obsm["X_mine"]

    class Stopped(st.tl._fitting.fit_and_store.Progress):
        def __call__(self, iteration, objective):
            raise KeyboardInterrupt

        def step(self, what):
            raise KeyboardInterrupt

    monkeypatch.setattr(st.tl._fitting.fit_and_store, "Progress", Stopped)
    with pytest.raises(KeyboardInterrupt):
        fit(adata)
    same(adata, before)


@pytest.mark.parametrize("method", METHODS)
def test_a_fit_that_ran_out_of_rounds_says_so_where_it_was_called(adata, method):
    with pytest.warns(UserWarning, match=f"{method} stopped after max_iter=1") as caught:
        getattr(st.tl, method)(adata, max_iter=1, tol=0)
    assert caught[0].filename == __file__


def test_a_kernel_for_drtree(adata):
    adata.obsp["linear"] = adata.X @ adata.X.T
    st.tl.drtree(adata)
    st.tl.drtree(adata, kernel="linear", key_added="k")
    np.testing.assert_allclose(adata.obsm["X_k"], adata.obsm["X_drtree"], atol=1e-7)


def test_what_may_be_joined_by_name(adata):
    n = adata.n_obs
    near = np.abs(np.arange(n)[:, None] - np.arange(n)) <= 3
    adata.obsp["near"] = sparse.csr_matrix(near.astype(float))
    st.tl.principal_graph(adata, n_nodes="all", candidates="near", max_iter=2, tol=1)
    edges = adata.uns["principal_graph"]["edges"]
    assert (np.abs(edges[:, 0] - edges[:, 1]) <= 3).all()
    with pytest.raises(KeyError, match="candidates='far' is not in adata.obsp"):
        st.tl.principal_graph(adata, candidates="far")
    with pytest.raises(KeyError, match="groups='clan' is not in adata.obs"):
        st.tl.principal_graph(adata, groups="clan")
    st.tl.principal_graph(adata, groups="stage", key_added="g")
    assert st.get.graph(adata, "g").component.max() > 0


def test_order_on_loops_takes_the_shortest_path_and_names_the_components():
    adata = rings()
    st.tl.principal_graph(adata, n_nodes=40)
    assert st.get.graph(adata, "principal_graph").component.max() == 1
    start = int(np.argmin(np.abs(adata.obs["angle"].to_numpy()[:500] - np.pi)))
    with pytest.warns(
        UserWarning, match=r"500 of 1000 cells .* C1 \(500 cells\), C2 \(500 cells\); the root lies in C"
    ) as w:
        st.tl.order(adata, root=adata.obs_names[start], key="principal_graph")
    assert any("principal_tree" in str(warning.message) for warning in w)
    time = adata.obs["principal_graph_pseudotime"].to_numpy()
    assert np.isfinite(time[:500]).all()
    assert np.isnan(time[500:]).all()
    by_ring = adata.obs.groupby("ring", observed=True)["principal_graph_component"].nunique()
    assert (by_ring == 1).all()
    assert st.get.graph(adata, "principal_graph").n_loops == 2
    with pytest.raises(ValueError, match=r"has 2 loop\(s\)"):
        st.pl.dendrogram(adata, key="principal_graph")
    around = np.abs(adata.obs["angle"].to_numpy()[:500] - np.pi)  # the shorter way round
    assert np.corrcoef(time[:500], around)[0, 1] > 0.99
    assert time[:500].max() == pytest.approx(np.pi, rel=0.15)


@pytest.mark.parametrize("method", METHODS)
def test_networkx(adata, method):
    getattr(st.tl, method)(adata)
    skeleton, graph = st.get.graph(adata, method), st.get.networkx(adata, method)
    assert set(graph.nodes) == set(range(skeleton.n_nodes))
    assert {tuple(sorted(e)) for e in graph.edges} == {tuple(sorted(e)) for e in skeleton.edges.tolist()}
    assert nx.number_connected_components(graph) == skeleton.component.max() + 1
    np.testing.assert_array_equal(graph.nodes[3]["pos"], skeleton.nodes[3])
    assert "pseudotime" not in graph.nodes[3]
    st.tl.order(adata, root=0, key=method)
    graph = st.get.networkx(adata, method)
    lengths = nx.single_source_dijkstra_path_length(graph, 0, weight="length")
    for node, length in lengths.items():
        assert graph.nodes[node]["pseudotime"] == pytest.approx(length)
    a, b = skeleton.edges[0].tolist()
    assert graph.edges[a, b]["branch"] == f"B{skeleton.branch_of_edge[0] + 1}"
    assert ("weight" in graph.edges[a, b]) == (method != "drtree")
    with pytest.raises(KeyError, match="other"):
        st.get.networkx(adata, "other")


def test_a_lazy_input_gives_the_same_principal_tree(adata):
    da = pytest.importorskip("dask.array")
    st.tl.principal_tree(adata, key_added="here")
    adata.layers["lazy"] = da.from_array(adata.X, chunks=(50, -1))
    st.tl.principal_tree(adata, layer="lazy", key_added="there")
    np.testing.assert_allclose(adata.uns["there"]["nodes"], adata.uns["here"]["nodes"], atol=1e-8)
    assert hasattr(adata.obsm["X_there"], "compute")
    st.tl.order(adata, root=0, key="there")
    st.tl.order(adata, root=0, key="here")
    np.testing.assert_allclose(adata.obs["there_pseudotime"], adata.obs["here_pseudotime"], atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_pictures(adata, method):
    getattr(st.tl, method)(adata)
    st.tl.order(adata, root=0, key=method)
    for draw in (st.pl.graph, st.pl.adjacency, st.pl.objective):
        draw(adata, key=method)
    if method != "principal_graph":
        st.pl.dendrogram(adata, key=method)
