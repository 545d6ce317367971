"""What MPME and SPL have in common: what is stored, inputs, errors, the order along similar cells."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
import scanpy as sc
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

import skeltraj as st
from samples import cells
from stored import refused, same, snapshot, written_and_read

METHODS = ["mpme", "spl"]
every = pytest.mark.parametrize("method", METHODS)


@pytest.fixture
def adata():
    return cells(80)


def fit(method):
    return getattr(st.tl, method)


@every
def test_stores_exactly_the_documented_keys(adata, method):
    before = snapshot(adata)
    assert fit(method)(adata) is None
    result = st.core.mpme(adata.X) if method == "mpme" else st.core.spl(adata.X, scale="auto")
    stored = adata.uns[method]
    np.testing.assert_array_equal(adata.obsm[f"X_{method}"], result.embedding)
    assert (adata.obsp[f"{method}_similarity"] != result.similarity).nnz == 0
    assert (adata.obsm[f"{method}_assignment"] != sparse.identity(80)).nnz == 0
    names = {"nodes", "edges", "edge_length", "objective", "weights"}
    assert set(stored) == names | {"params", "converged", "n_iter", "value", "certificate"}
    for name in names:
        np.testing.assert_array_equal(stored[name], getattr(result, name))
    assert stored["value"] == result.value == stored["objective"][-1]
    assert stored["certificate"] == asdict(result.certificate)
    assert stored["params"]["method"] == method
    added = {"obsm": {f"X_{method}", f"{method}_assignment"}, "obsp": {f"{method}_similarity"}, "uns": {method}}
    same(adata, before, but=added)


@every
@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_everything_survives_writing_and_slicing(adata, method, kind, tmp_path):
    fit(method)(adata, key_added="mine")
    st.tl.order(adata, root=0, key="mine")
    back = written_and_read(adata, kind, tmp_path)
    same(back, adata)
    half = back[::2].copy()
    before = half.obs["mine_pseudotime"].to_numpy()
    assert half.obsp["mine_similarity"].shape == (40, 40)
    st.tl.order(half, root=0, key="mine")  # along all cells that were fitted, whatever cells are left
    np.testing.assert_allclose(half.obs["mine_pseudotime"], before)


@every
def test_another_fit_of_that_name_leaves_nothing_behind(adata, method):
    fit(method)(adata, key_added="mine")
    st.tl.order(adata, root=0, key="mine")
    st.tl.drtree(adata, key_added="mine")
    fresh = cells(80)
    st.tl.drtree(fresh, key_added="mine")
    same(adata, fresh)


def test_inputs(adata):
    adata = adata[::2].copy()
    sc.pp.pca(adata, n_comps=4)
    st.tl.mpme(adata)
    assert adata.uns["mpme"]["params"]["use_rep"] == "X_pca"
    X = adata.X
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    adata.obsp["squares"], adata.obsp["products"] = squares, X @ X.T
    adata.layers["sparse"] = sparse.csr_matrix(X)
    keys = {
        "a": dict(use_rep="X"),
        "b": dict(distances="squares"),
        "c": dict(kernel="products"),
        "d": dict(layer="sparse"),
    }
    for key, given in keys.items():
        st.tl.mpme(adata, **given, key_added=key)
        np.testing.assert_allclose(
            adata.obsp[f"{key}_similarity"].toarray(), adata.obsp["a_similarity"].toarray(), rtol=1e-3, atol=1e-2
        )
    assert adata.uns["b"]["params"]["distances_key"] == "squares"
    assert adata.uns["c"]["params"]["kernel_key"] == "products"
    sc.pp.neighbors(adata, n_neighbors=8, use_rep="X", method="gauss")  # the other compiles for long
    st.tl.spl(adata, use_rep="X", neighbors="connectivities", key_added="on_graph")
    joined = adata.obsp["on_graph_similarity"].toarray() > 0
    assert joined.any()
    assert not (joined & ~(adata.obsp["connectivities"].toarray() > 0)).any()


@every
def test_results_are_in_the_units_of_nothing(adata, method):
    fit(method)(adata)
    other = cells(80)
    other.X = 50 * other.X + 3
    fit(method)(other)
    S, scaled = (version.obsp[f"{method}_similarity"].toarray() for version in (adata, other))
    if method == "mpme":
        scaled = scaled * 50**2  # in units of one over squared distances
    np.testing.assert_allclose(scaled, S, atol=1e-2 * S.max())


def test_errors_leave_adata_as_it_was(adata):
    adata.obsp["wrong"] = np.triu(np.ones((80, 80)), 1)
    refused(adata, KeyError, r"use_rep='X_no' is not in adata.obsm", lambda: st.tl.mpme(adata, use_rep="X_no"))
    refused(adata, KeyError, r"distances='no' is not in adata.obsp", lambda: st.tl.mpme(adata, distances="no"))
    refused(adata, KeyError, r"neighbors='no' is not in adata.obsp", lambda: st.tl.spl(adata, neighbors="no"))
    refused(adata, ValueError, r"adata.obsp\['wrong'\] is not symmetric", lambda: st.tl.mpme(adata, kernel="wrong"))
    refused(adata, ValueError, r"not symmetric", lambda: st.tl.mpme(adata, distances="wrong"))
    refused(adata, ValueError, "wanted one of them", lambda: st.tl.mpme(adata, use_rep="X", distances="wrong"))
    refused(adata, ValueError, r"lam=0 is out of range", lambda: st.tl.mpme(adata, lam=0))
    refused(adata, ValueError, r"gamma=-1 is out of range", lambda: st.tl.spl(adata, gamma=-1))
    adata.X[3, 2] = np.nan
    refused(adata, ValueError, r"adata.X holds 1 value", lambda: st.tl.spl(adata))
    empty = cells(80)[:1].copy()
    refused(empty, ValueError, r"1 row", lambda: st.tl.mpme(empty))


@every
def test_interruption_leaves_adata_as_it_was(adata, method, monkeypatch):
    before = snapshot(adata)

    def stop(self, step, value):
        if step == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("skeltraj._progress.Progress.__call__", stop)
    with pytest.raises(KeyboardInterrupt):
        fit(method)(adata)
    same(adata, before)


@every
def test_says_when_the_maximum_is_not_proved(adata, method):
    with pytest.warns(UserWarning, match=f"{method} stopped after 3 steps with its maximum not proved"):
        fit(method)(adata, max_iter=3)
    assert not adata.uns[method]["converged"]


@every
def test_progress_is_shown(adata, method, capsys):
    fit(method)(adata, progress=True)
    assert f"{method}: round" in capsys.readouterr().err


# ---- along the similarities


@every
def test_order_is_the_shortest_path_along_similar_cells(adata, method):
    fit(method)(adata, 3)
    st.tl.order(adata, root="cell7", key=method)
    S = adata.obsp[f"{method}_similarity"].toarray()
    Z = adata.obsm[f"X_{method}"]
    length = np.where(S > 0, np.linalg.norm(Z[:, None] - Z[None], axis=2), 0.0)
    np.testing.assert_allclose(adata.obs[f"{method}_pseudotime"], dijkstra(length, indices=7), atol=1e-12)
    assert adata.uns[method]["order"]["root"] == 7
    assert set(adata.obs[f"{method}_branch"]) == {"B1"}
    assert adata.obsm[f"{method}_lineages"].shape == (80, 0)
    assert (adata.obsm[f"{method}_position"]["distance"] == 0).all()
    table = adata.uns[method]["order"]["branches"]
    assert table["n_cells"].tolist() == [80]
    np.testing.assert_allclose(table["length"], length.sum() / 2)


def test_what_needs_branches_refuses_a_mesh(adata):
    st.tl.mpme(adata)
    st.tl.order(adata, root=0, key="mpme")
    graph = st.get.graph(adata, "mpme")
    assert isinstance(graph, st.core.Mesh)
    np.testing.assert_array_equal(graph.edges, adata.uns["mpme"]["edges"])
    for function in (st.get.trajectory_tables, st.get.to_scfates, st.get.to_treedata):
        with pytest.raises(ValueError, match=r"joins the cells themselves.*principal_tree\(adata, use_rep='X_mpme'\)"):
            function(adata, "mpme")
    attach, path = st.tl.attach, st.tl.select_path
    for function in (
        st.pl.dendrogram,
        lambda adata, key: attach(adata, key=key),
        lambda adata, key: path(adata, "root", 5, key=key),
    ):
        with pytest.raises(ValueError, match="joins the cells themselves"):
            function(adata, "mpme")
    for function in (st.tl.prune, st.tl.stability):
        with pytest.raises(ValueError, match="is of method 'mpme'"):
            function(adata, key="mpme")
    assert st.get.networkx(adata, "mpme").number_of_edges() == len(graph.edges)
    st.tl.composition(adata, "stage", key="mpme", n_permutations=20)
    assert list(st.get.composition(adata, "stage", "mpme").branches["branch"].cat.categories) == ["B1"]
