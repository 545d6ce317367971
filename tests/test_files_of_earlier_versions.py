"""Files that an earlier version wrote are read, drawn and gone on with."""

from __future__ import annotations

import lzma
from pathlib import Path

import anndata as ad
import matplotlib.pyplot as plt
import numpy as np
import pytest

from skeltraj import get, pl, tl

FILE = Path(__file__).parent / "reference/fits_of_0.2.0.h5ad.xz"  # by write_fits.py beside it


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("written") / "fits.h5ad"
    path.write_bytes(lzma.decompress(FILE.read_bytes()))
    return ad.read_h5ad(path)


@pytest.mark.parametrize("key", ["ddrtree", "principal_tree"])
def test_the_tree_and_its_order(written, key):
    assert get.stored(written, key)["params"]["version"] == "0.2.0"
    graph = get.graph(written, key)
    assert len(graph.tips) == 3
    assert len(graph.forks) == 1
    assert list(get.ordered(written, key)["branches"].index) == ["B1", "B2", "B3"]
    assert get.assignment(written, key).shape == (written.n_obs, graph.n_nodes)
    assert np.isfinite(written.obs[f"{key}_pseudotime"]).all()
    assert "3 tips, 1 fork" in repr(get.summary(written, key))


def test_what_was_made_of_it(written):
    assert list(get.summary(written).branches["support"].round(2)) == [0.99, 0.98, 0.98]
    assert get.stability(written).n_replicates == 3
    assert set(get.association(written)["names"]) == set(written.var_names)
    assert set(get.branch_test(written, "F1")["names"]) == set(written.var_names)
    assert np.isfinite(get.composition(written, "stage").branches["p_value"]).any()
    assert get.survival(written).n_samples == written.n_obs
    assert np.isfinite(get.trends(written, ["g0"])["mean"]).all()


@pytest.mark.parametrize(
    ("picture", "arguments"),
    [
        ("graph", dict(color="ddrtree_branch")),
        ("dendrogram", {}),
        ("heatmap", dict(fork="F1")),
        ("trends", dict(genes=["g0"])),
        ("volcano", dict(test="F1")),
        ("stability", {}),
        ("composition", dict(groupby="stage")),
        ("survival", {}),
    ],
)
def test_pictures(written, picture, arguments):
    getattr(pl, picture)(written, **arguments, show=False)
    assert any(ax.has_data() for ax in plt.gcf().axes)
    plt.close("all")


def test_pruning_and_ordering_go_on(written):
    adata = written.copy()
    tl.prune(adata, n_tips=2)
    assert len(get.graph(adata).tips) == 2
    tl.prune(adata, undo=True)
    tl.prune(adata, n_tips=3)
    tl.order(adata, root={"stage": "early"})
    np.testing.assert_allclose(adata.obs["ddrtree_pseudotime"], written.obs["ddrtree_pseudotime"])
    tl.order(adata, root="T1")
    assert adata.obs["ddrtree_pseudotime"].min() >= 0


def test_new_cells_are_put_on_the_tree(written):
    some = written[:20].copy()
    del some.obsm["X_ddrtree"]
    tl.ingest(some, written, use_rep="X_pca")
    there = written.obs["ddrtree_branch"].to_numpy()[:20]
    assert (some.obs["ddrtree_branch"].to_numpy() == there).mean() > 0.9
