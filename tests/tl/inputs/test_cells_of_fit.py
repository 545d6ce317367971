"""Cells that were put beside the skeleton of other cells."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pytest

from samples import cells
from skeltraj import tl


@pytest.mark.parametrize("method", ["ddrtree", "principal_tree"])
@pytest.mark.filterwarnings("ignore:.*cells are unlike the reference's")
def test_cells_of_two_fits_of_one_name(method):
    parts = [cells(150, seed=seed, n_features=8) for seed in (0, 1)]
    parts[1].obs_names = [f"other {name}" for name in parts[1].obs_names]
    for part in parts:
        getattr(tl, method)(part, n_nodes=20, n_starts=1)
    both = ad.concat(parts, uns_merge="first")
    said = rf"of 300 cells examined, such as '.*', are far .* another fit than the skeleton adata.uns\['{method}'\]"
    with pytest.warns(UserWarning, match=said):
        tl.order(both, root=0, key=method)
    tl.order(parts[0], root=0, key=method)
    ingested = tl.ingest(parts[1], parts[0], key=method, copy=True)
    both = ad.concat([parts[0], ingested], uns_merge="first")
    tl.order(both, root=0, key=method)


def test_a_pruning_that_made_no_forks_one_hides_nothing():
    # its resolution may be as long as branches are
    parts = [_three_arms(seed) for seed in (0, 1)]
    for part in parts:
        tl.ddrtree(part, n_nodes=20, n_starts=1, prune=False)
        tl.prune(part, min_gain=0, resolution=3.0)
        assert len(part.uns["ddrtree"]["pruned"]["report"]) == 0
        tl.order(part, root=0)
    with pytest.warns(UserWarning, match="are far from the nodes"):
        tl.order(ad.concat(parts, uns_merge="first", index_unique="-"), root=0)


def _three_arms(seed):
    rng = np.random.default_rng(seed)
    arm = rng.integers(0, 3, 200)
    return ad.AnnData(4 * rng.random((200, 1)) * np.eye(3, 6)[arm] + 0.3 * rng.standard_normal((200, 6)))


@pytest.mark.filterwarnings("ignore:No cell lies on a stretch")
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"n_nodes": 8},
        {"sigma": 2.0},
        {"sigma": 100.0},
        {"gamma": 1e4},
        {"assignment": "hard"},
        {"preset": "kdd2015"},
    ],
)
@pytest.mark.filterwarnings("ignore:.*stopped after max_iter")
def test_cells_of_one_fit_are_its_own(settings):
    adata = cells(90)
    tl.ddrtree(adata, n_starts=1, **settings)
    tl.order(adata, root=0)  # warnings are errors


@pytest.mark.parametrize("sigma", [1.5, 2.0, 3.0])
def test_cells_at_forks_that_pruning_made_one(sigma):
    rng = np.random.default_rng(0)
    arms, noise = np.eye(4, 20), 0.3 * rng.standard_normal((300, 20))
    adata = ad.AnnData(4 * rng.random((300, 1)) * arms[rng.integers(0, 4, 300)] + noise)
    tl.ddrtree(adata, n_starts=1, sigma=sigma)
    tl.order(adata, root=0)
    tl.ddrtree(adata, sigma=sigma, n_starts=1, prune=False)
    tl.prune(adata)
    tl.order(adata, root=0)
