"""Pruning a stored tree, and undoing it."""

from __future__ import annotations

import numpy as np
import pytest
import scanpy as sc

import skeltraj as st
from samples import cells, noisy, rings
from stored import same, snapshot, written_and_read

METHODS = ["ddrtree", "principal_tree"]

# of the noisy cells the tree is a line, of which fits say that they have no order
pytestmark = pytest.mark.filterwarnings("ignore:.*the tree is a line, but")


@pytest.mark.parametrize("equalize", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_undo_brings_the_tree_back_and_pruning_again_takes_it_away(method, equalize):
    adata = noisy()
    given = {"n_starts": 1, "denoise": {"equalize": equalize}}  # which is left to trees of parts, if there are some
    plain = getattr(st.tl, method)(adata, **given, prune=False, copy=True)
    assert "pruned" not in plain.uns[method]
    getattr(st.tl, method)(adata, **given)
    st.tl.order(adata, root=0, key=method)
    before = snapshot(adata)
    back = st.tl.prune(adata, key=method, undo=True, copy=True)
    same(adata, before)
    assert f"{method}_pseudotime" not in back.obs  # the order belonged to the other tree
    for name in ("nodes", "edges", "edge_length"):
        np.testing.assert_array_equal(back.uns[method][name], plain.uns[method][name])
    assert "pruned" not in back.uns[method]
    np.testing.assert_allclose(back.obsm[f"X_{method}"], plain.obsm[f"X_{method}"], atol=1e-9)
    np.testing.assert_allclose(
        back.obsm[f"{method}_assignment"].toarray(), plain.obsm[f"{method}_assignment"].toarray(), atol=1e-9
    )
    st.tl.prune(back, key=method)
    st.tl.order(back, root=0, key=method)
    for name in ("nodes", "edges"):
        np.testing.assert_array_equal(back.uns[method][name], adata.uns[method][name])
    np.testing.assert_allclose(back.obs[f"{method}_pseudotime"], adata.obs[f"{method}_pseudotime"])
    with pytest.raises(KeyError, match="undo=True, but adata.uns"):
        st.tl.prune(plain, key=method, undo=True)


def test_a_higher_price_takes_more_and_begins_with_the_whole_tree():
    adata = cells(300)
    st.tl.ddrtree(adata)
    whole = adata.uns["ddrtree"]["pruned"]["nodes"]
    assert len(st.get.graph(adata).tips) == 3
    st.tl.prune(adata, min_gain=1e6)
    assert len(adata.uns["ddrtree"]["pruned"]["report"]) > 0
    assert len(st.get.graph(adata).tips) == 2
    st.tl.prune(adata)
    assert len(st.get.graph(adata).tips) == 3
    np.testing.assert_array_equal(adata.uns["ddrtree"]["pruned"]["nodes"], whole)


@pytest.mark.parametrize("method", METHODS)
def test_so_many_tips_are_left_as_asked_for(method):
    adata = cells(300)
    getattr(st.tl, method)(adata, n_starts=1, prune={"min_gain": 0.0})
    for n_tips in (3, 2):
        st.tl.prune(adata, key=method, n_tips=n_tips)
        assert len(st.get.graph(adata, method).tips) == n_tips
        pruned = adata.uns[method]["pruned"]
        # the limit that is stored leaves the same tree
        again = st.tl.prune(adata, key=method, min_gain=pruned["min_gain"], copy=True)
        np.testing.assert_array_equal(again.uns[method]["nodes"], adata.uns[method]["nodes"])
        direct = getattr(st.tl, method)(cells(300), n_starts=1, prune={"n_tips": n_tips}, copy=True)
        np.testing.assert_array_equal(direct.uns[method]["nodes"], adata.uns[method]["nodes"])
        assert direct.uns[method]["pruned"]["min_gain"] == pruned["min_gain"]


@pytest.mark.parametrize("method", METHODS)
def test_back_to_the_number_of_tips_that_the_fit_chose(method):
    adata = cells(300)
    getattr(st.tl, method)(adata)
    nodes = adata.uns[method]["nodes"]
    st.tl.prune(adata, key=method, n_tips=2)
    assert len(adata.uns[method]["nodes"]) < len(nodes)
    st.tl.prune(adata, key=method, n_tips="auto")
    np.testing.assert_array_equal(adata.uns[method]["nodes"], nodes)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_kept_is_said_of_the_branches_with_a_tip(method):
    adata = cells(300)
    getattr(st.tl, method)(adata, n_starts=1)
    kept, graph = adata.uns[method]["pruned"]["kept"], st.get.graph(adata, method)
    ends = {name: set(path[[0, -1]].tolist()) for name, path in zip(graph.branch_names, graph.branches, strict=True)}
    assert {name: {row["start"], row["end"]} for name, row in kept.iterrows()} == {
        name: at for name, at in ends.items() if at & set(graph.tips.tolist())
    }
    assert set(kept["start"]) == set(graph.tips.tolist())
    assert kept["gain"].is_monotonic_increasing
    assert (kept["gain"] >= adata.uns[method]["pruned"]["min_gain"]).all()
    assert kept["n_cells"].sum() <= 300
    st.tl.prune(adata, key=method, min_gain=1e6)
    assert len(adata.uns[method]["pruned"]["kept"]) == 0  # a line


def test_the_order_of_the_cells_does_not_matter():
    adata = noisy(300)
    order = np.random.default_rng(0).permutation(300)
    turned = adata[order].copy()
    for version in (adata, turned):
        st.tl.ddrtree(version)
        st.tl.order(version, root={"stage": "stem"})
    same(turned[adata.obs_names].copy(), adata)


@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_what_is_stored_survives_writing(kind, tmp_path):
    adata = noisy()
    st.tl.ddrtree(adata)
    st.tl.ddrtree(adata, key_added="nothing", denoise=False, n_nodes=5, prune=True)  # an empty report
    back = written_and_read(adata, kind, tmp_path)
    same(back, adata)
    st.tl.prune(back, undo=True)
    st.tl.prune(back)
    np.testing.assert_array_equal(back.uns["ddrtree"]["nodes"], adata.uns["ddrtree"]["nodes"])


def test_a_new_fit_forgets_the_old_pruning():
    adata = noisy()
    st.tl.ddrtree(adata)
    st.tl.ddrtree(adata, n_nodes=20, denoise=False)
    assert not {"pruned", "denoise"} & set(adata.uns["ddrtree"])


@pytest.fixture(scope="module")
def fitted():
    """Cells with fits of several kinds, and a kernel matrix; to be copied before anything is changed."""
    adata = noisy(200)
    adata.obsp["k"] = adata.X @ adata.X.T
    st.tl.ddrtree(adata, key_added="fit")
    st.tl.ddrtree(adata, key_added="bare", n_starts=1, prune={"n_tips": 3})
    st.tl.drtree(adata, key_added="own")
    st.tl.principal_graph(adata, n_nodes=20, key_added="rings")
    return adata


@pytest.mark.parametrize(
    ("function", "options", "kind", "message"),
    [
        ("ddrtree", dict(denoise=-1), ValueError, "denoise=-1 is out of range"),
        ("ddrtree", dict(denoise=400), ValueError, "n_neighbors=400 is out of range"),
        ("ddrtree", dict(denoise="yes"), TypeError, "denoise='yes' is a str"),
        ("ddrtree", dict(denoise=True, kernel="k"), ValueError, "denoise=True with a kernel matrix; wanted"),
        (
            "ddrtree",
            dict(denoise={"n_steps": 2}, kernel="k"),
            ValueError,
            "denoise={'n_steps': 2} with a kernel matrix",
        ),
        ("ddrtree", dict(prune="maybe"), ValueError, "prune='maybe' is not known"),
        ("ddrtree", dict(n_components="all"), ValueError, "n_components='all' is not known. Available"),
        ("ddrtree", dict(n_components=9), ValueError, "n_components=9 is out of range"),
        ("principal_tree", dict(init=np.zeros((5, 8)), denoise=True), ValueError, "denoise=True with init"),
        ("prune", dict(), KeyError, "no skeleton is stored as adata.uns"),
        (
            "prune",
            dict(key="rings"),
            ValueError,
            r"1 loop\(s\)|method 'principal_graph', whose .* again; wanted one of",
        ),
        ("prune", dict(key="own"), ValueError, "method 'drtree', whose .* again; wanted one of"),
        ("prune", dict(key="fit", min_gain=-2), ValueError, "min_gain=-2 is out of range"),
        ("prune", dict(key="fit", n_tips=1), ValueError, "n_tips=1 is out of range; wanted a whole number from 2 up"),
        (
            "prune",
            dict(key="fit", n_tips=99),
            ValueError,
            r"n_tips=99: the tree as it was fitted has \d+ tips; wanted at",
        ),
        (
            "prune",
            dict(key="fit", n_tips=np.int64(99)),
            ValueError,
            r"n_tips=99: the tree as it was fitted has \d+ tips",
        ),
        ("prune", dict(key="fit", n_tips="3"), TypeError, "n_tips='3' is a str; wanted a whole number from 2 up"),
        (
            "prune",
            dict(key="fit", n_tips=3, min_gain=0.1),
            ValueError,
            "n_tips=3 with min_gain=0.1; wanted one",
        ),
        ("prune", dict(key="bare", n_tips="auto"), KeyError, r"n_tips='auto', but adata.uns\['bare'\] holds no choice"),
        ("prune", dict(key="fit", n_tips="most"), TypeError, "wanted a whole number from 2 up, or 'auto'"),
        ("prune", dict(key="fit", n_tips=3, undo=True), ValueError, "undo=True with min_gain=0.008, n_tips=3, resol"),
        ("prune", dict(key="fit", resolution=np.nan), ValueError, "resolution=nan is out of range"),
    ],
)
def test_errors(fitted, function, options, kind, message):
    adata = fitted.copy()
    with pytest.raises(kind, match=message):
        getattr(st.tl, function)(adata, **options)
    same(adata, fitted)


def test_a_tree_that_was_changed_or_whose_input_is_gone():
    adata = noisy(200)
    sc.pp.pca(adata, n_comps=5)
    st.tl.ddrtree(adata)
    st.tl.order(adata, root=0)
    part = st.tl.select_path(adata, "root", "T1" if st.get.graph(adata).tips[0] != 0 else "T2")
    with pytest.raises(ValueError, match=r"was changed by skeltraj\.tl\.select_path"):
        st.tl.prune(part)
    del adata.obsm["X_pca"]
    with pytest.raises(KeyError, match="X_pca"):
        st.tl.prune(adata)


@pytest.mark.filterwarnings("ignore:.*(parts of the cells differ|is in doubt)")  # a ring may be cut anywhere
def test_rings_are_not_forced():
    adata = rings(400)
    st.tl.ddrtree(adata)
    stored = adata.uns["ddrtree"]
    assert st.get.graph(adata).is_tree
    # what follows a ring is no spur; which of its cuts is kept, its parts need not agree on
    assert len(stored["pruned"]["report"]) <= 1


@pytest.mark.filterwarnings("ignore::anndata.ImplicitModificationWarning")
def test_pruning_a_view_leaves_its_parent_alone():
    adata = noisy()
    st.tl.ddrtree(adata)
    st.tl.order(adata, root=0)
    adata.obs = adata.obs[["stage"]].copy()
    del adata.obsm["ddrtree_position"], adata.obsm["ddrtree_lineages"]
    view = adata[:200]
    st.tl.prune(view)
    assert "order" in adata.uns["ddrtree"]
    with pytest.raises(ValueError, match="undo=True with min_gain=3"):
        st.tl.prune(adata, undo=True, min_gain=3)
