"""A method that is registered, as CONTRIBUTING.md says, is taken by every later step without a change elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import anndata as ad
import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist

import skeltraj as st
from samples import cells
from skeltraj import core
from skeltraj.core._graph.skeleton import EmbeddedSkeleton
from skeltraj.tl._fitting.fit_and_store import learn
from skeltraj.tl._inputs.pick import pick

ARGUMENTS = ("n_nodes", "sigma", "stretch")


@dataclass(frozen=True, repr=False, eq=False)
class ToyFit(EmbeddedSkeleton):
    """The result of a method with nodes in the plane of the first two components."""

    embedding: np.ndarray
    assignment: sparse.csr_matrix
    radius: np.ndarray  # something of its own to store

    also_stored: ClassVar[tuple[str, ...]] = ("mean", "loadings", "radius")

    def with_tree(self, nodes, edges, assignment):
        return replace(super().with_tree(nodes, edges, assignment), radius=np.linalg.norm(nodes, axis=1))

    def transform(self, X):
        return self.scores_of(X)

    def hold(self, points, nodes, start=None):
        return points, nearest(points, nodes)

    def places(self, points, assignment):
        return points


def nearest(points, nodes):
    own = cdist(points, nodes).argmin(axis=1)
    return sparse.csr_matrix((np.ones(len(own)), own, np.arange(len(own) + 1)), shape=(len(points), len(nodes)))


def k_means(points, n_nodes, rng):
    nodes = points[np.random.default_rng(rng).choice(len(points), n_nodes, replace=False)]
    for _ in range(10):
        R = nearest(points, nodes)
        mass = np.asarray(R.sum(axis=0)).ravel()
        nodes = np.where(mass[:, None] > 0, R.T @ points / np.maximum(mass, 1)[:, None], nodes)
    return nodes


def fitted(points, n_nodes, rng, callback):
    nodes = k_means(points, n_nodes, rng)
    edges = np.sort(np.column_stack(minimum_spanning_tree(cdist(nodes, nodes)).nonzero()), axis=1)
    error = ((points - nearest(points, nodes) @ nodes) ** 2).sum()
    if callback is not None:
        callback(0, error)
    return dict(nodes=nodes, edges=edges, objective=np.array([error, error]), converged=True, n_iter=1)


def toy_in_embedding(X, *, n_nodes=25, sigma=0.01, stretch=1.0, rng=0, callback=None):
    X = np.asarray(X)
    mean = X.mean(axis=0)
    W = np.linalg.svd(X - mean, full_matrices=False)[2][:2].T
    Z = (X - mean) @ W
    tree = fitted(Z, n_nodes, rng, callback)
    R = nearest(Z, tree["nodes"])
    params = dict(n_nodes=n_nodes, sigma=sigma, stretch=stretch, max_iter=1, assignment="soft")
    radius = np.linalg.norm(tree["nodes"], axis=1)
    return ToyFit(**tree, params=params, loadings=W, mean=mean, embedding=Z, assignment=R, radius=radius)


def toy_in_input(X, *, n_nodes=25, sigma=0.01, stretch=1.0, rng=0, callback=None):
    X = np.asarray(X)
    tree = fitted(X, n_nodes, rng, callback)
    params = dict(n_nodes=n_nodes, sigma=sigma, stretch=stretch, max_iter=1, assignment="soft")
    R, weights = nearest(X, tree["nodes"]), np.ones(n_nodes - 1)
    return core.PrincipalFit(**tree, params=params, weights=weights, assignment=R)


@pytest.fixture(params=["embedding", "input"])
def toy(request, monkeypatch):
    """The `tl` function of a method that is registered for this test."""
    fit, result = (toy_in_embedding, ToyFit) if request.param == "embedding" else (toy_in_input, core.PrincipalFit)
    record = core.Method(
        "toy", "Toy", fit, result, arguments=ARGUMENTS, length_weight="stretch", reads_input_again=True
    )
    monkeypatch.setitem(core.METHODS, "toy", record)

    def tl_toy(adata, *, denoise=True, n_starts=3):
        source = pick(adata, None, None)
        return learn(
            "toy",
            lambda shown: core.learn_tree(
                source.matrix, "toy", denoise=denoise, prune=True, n_starts=n_starts, callback=shown
            ),
            adata,
            source,
            key_added="toy",
            progress=False,
            copy=False,
        )

    tl_toy.node_space = request.param
    return tl_toy


@pytest.mark.parametrize("denoise", [True, False])
def test_every_step_takes_a_method_that_is_registered(toy, denoise, tmp_path):
    adata = cells(240)
    toy(adata, denoise=denoise)
    assert set(adata.uns["toy"]) >= {"nodes", "edges", "pruned", "input", "agreement"}
    assert ("denoise" in adata.uns["toy"]) == denoise
    own = "radius" if toy.node_space == "embedding" else "weights"
    assert len(adata.uns["toy"][own]) in (len(adata.uns["toy"]["nodes"]), len(adata.uns["toy"]["edges"]))
    st.tl.order(adata, root={"stage": "stem"}, key="toy")
    assert np.isfinite(adata.obs["toy_pseudotime"]).all()
    n_tips = len(core.Graph(adata.uns["toy"]["pruned"]["nodes"], adata.uns["toy"]["pruned"]["edges"]).tips)
    assert 3 <= len(st.get.graph(adata, "toy").tips) <= n_tips

    pruned = adata.copy()
    st.tl.prune(pruned, key="toy", undo=True)
    assert len(pruned.uns["toy"]["nodes"]) == 25
    st.tl.prune(pruned, key="toy", min_gain=0.3)
    assert len(pruned.uns["toy"]["nodes"]) < 25

    st.tl.stability(adata, key="toy", n_replicates=4, vary=("cells", "sigma", "lam", "n_nodes"))
    assert adata.uns["toy"]["stability"]["branches"]["support"].between(0, 1).all()
    st.tl.composition(adata, "stage", key="toy", n_permutations=99)
    assert len(st.get.groups(adata, "stage", key="toy")) == 3

    new = cells(240)[:40].copy()
    new.X = new.X + 1e-3  # no cell of the reference
    st.tl.ingest(new, adata, key="toy")
    assert np.isfinite(new.obs["toy_pseudotime"]).all()

    part = st.tl.select_path(adata, "root", adata.obsm["toy_lineages"].columns[0], key="toy")
    assert 0 < part.n_obs < adata.n_obs
    other = st.get.networkx(adata, "toy")
    assert other.number_of_nodes() == len(adata.uns["toy"]["nodes"])
    assert st.get.assignment(adata, "toy").shape == (240, len(adata.uns["toy"]["nodes"]))
    panel = st.pl.graph(adata, "toy", color="stage")
    assert panel.get_xlabel() == "Toy 1"
    st.pl.dendrogram(adata, "toy", color="stage")

    adata.write_h5ad(tmp_path / "toy.h5ad")
    again = ad.read_h5ad(tmp_path / "toy.h5ad")
    st.tl.prune(again, key="toy", undo=True)
    st.tl.order(again, root={"stage": "stem"}, key="toy")
    np.testing.assert_allclose(again.uns["toy"]["nodes"], adata.uns["toy"]["pruned"]["nodes"])


def test_a_branch_is_grafted_onto_a_method_that_is_registered(toy):
    adata = cells(240)
    toy(adata, denoise=False)
    before = len(adata.uns["toy"]["nodes"])
    arm = {
        name: adata.uns["toy"][name]
        for name in ("params", "nodes", "edges", "input", "mean")
        if name in adata.uns["toy"]
    }
    adata.uns["arm"] = arm | {"nodes": arm["nodes"] + 10.0}
    if "toy_loadings" in adata.varm:  # what tells that both lie in the same embedding
        adata.varm["arm_loadings"] = adata.varm["toy_loadings"]
    st.tl.attach(adata, branch="arm", key="toy")
    assert len(adata.uns["toy"]["nodes"]) == 2 * before
    assert st.get.graph(adata, "toy").is_tree
