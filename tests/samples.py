"""Small data sets with known shapes."""

from __future__ import annotations

import os
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skeltraj import core, tl
from skeltraj.core._geometry.assign import Entries


def forked(n=150, n_features=6, noise=0.08, seed=0, spread=1.0):
    """Points on three arms that meet at the origin, in a random plane; and the arm and place of each."""
    rng = np.random.default_rng(seed)
    arm = rng.integers(0, 3, n)
    place = rng.random(n)
    angle = 2 * np.pi * arm / 3
    plane = np.linalg.qr(rng.standard_normal((n_features, 2)))[0]
    length = np.array([1.0, 0.8, 0.6])[arm]
    flat = (place * length)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return spread * (flat @ plane.T + noise * rng.standard_normal((n, n_features))), arm, place


def bursting(n=600, n_features=8, seed=0):
    """The same three arms, and features that few rows have in plenty, each along a direction of its own."""
    X = forked(n, n_features, noise=0.05, seed=seed)[0]
    rng = np.random.default_rng(seed + 1)
    directions = rng.standard_normal((n_features, n_features)) / np.sqrt(n_features)
    return X + rng.exponential(size=X.shape) * (rng.random(X.shape) < 0.04) @ directions


def as_kind(X, kind, folder):
    """The same rows as users may hold them: "dense", "sparse", "float32", on "disk", as a "dask" array."""
    if kind == "sparse":
        return sparse.csr_matrix(X)
    if kind == "float32":
        return X.astype(np.float32)
    if kind == "disk":
        h5py = pytest.importorskip("h5py")
        return h5py.File(folder / "x.h5", "w").create_dataset("X", data=X)
    if kind == "dask":
        return pytest.importorskip("dask.array").from_array(X, chunks=(50, -1))
    return X


def in_halves(X, kind=sparse.csr_matrix):
    """The same as a sparse matrix with two entries of half the size at each place, which SciPy allows."""
    one = kind(X)
    return kind((np.repeat(one.data / 2, 2), np.repeat(one.indices, 2), 2 * one.indptr), shape=one.shape)


def swapped(X):
    """The same sparse matrix in the byte order of other machines, its arrays replaced as SciPy lets anyone do."""
    X = X.copy()
    for name in ("data", "indices", "indptr"):
        values = getattr(X, name)
        setattr(X, name, values.astype(values.dtype.newbyteorder("S")))
    return X


def centred(X):
    return X - X.mean(axis=0)


def altered(matrix, i, j, value):
    """The same matrix but for one entry."""
    matrix = matrix.copy()
    matrix[i, j] = value
    return matrix


def cells(n=150, seed=0, n_features=6):
    """The same as an AnnData, the arms as stages: "stem" is the longest."""
    X, arm, place = forked(n, n_features, seed=seed)
    obs = pd.DataFrame(
        {"stage": pd.Categorical(np.array(["stem", "left", "right"])[arm]), "place": place},
        index=[f"cell{i}" for i in range(n)],
    )
    return ad.AnnData(X, obs=obs, var=pd.DataFrame(index=[f"gene{i}" for i in range(n_features)]))


def shared(name):
    """A file or folder of the developers' data, or a skip that says why."""
    root = Path(os.environ.get("SKELTRAJ_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    path = root / name
    if not path.exists():
        if os.environ.get("SKELTRAJ_REQUIRE_SHARED"):
            pytest.fail(f"{path} is missing, and SKELTRAJ_REQUIRE_SHARED asks for it")
        pytest.skip(f"the developers' data ({name}) are not here; they are not part of the package")
    return path


def as_entries(*blocks):
    """Sparse blocks of rows as the fit keeps them."""
    return [Entries(block.indptr, block.indices, block.data) for block in blocks]


def rings(n=1000):
    """Two rings apart, the second smaller."""
    rng = np.random.default_rng(0)
    t = 2 * np.pi * rng.random(n)
    X = np.column_stack([np.cos(t), np.sin(t)])
    X[n // 2 :] = 0.5 * X[n // 2 :] + [3, 0]
    obs = pd.DataFrame({"ring": np.repeat(["large", "small"], n // 2), "angle": t}, index=[f"c{i}" for i in range(n)])
    return ad.AnnData(X + 0.01 * rng.standard_normal((n, 2)), obs=obs)


def by_hand(nodes, edges, points, sigma=None, weights=None, key="ddrtree", method=None):
    """An AnnData that holds a skeleton made by hand, as a fit would; assigned to the nearest node, or with `sigma`.

    It is said to be of DDRTree, but not where it has loops.
    """
    nodes, edges, points = np.array(nodes, dtype=float), np.array(edges).reshape(-1, 2), np.array(points, dtype=float)
    if method is None:
        method = "hand" if core.Graph(nodes, edges).n_loops else "ddrtree"
    squared = ((points[:, None] - nodes) ** 2).sum(axis=2)
    R = np.zeros_like(squared)
    R[np.arange(len(points)), squared.argmin(axis=1)] = 1.0
    if sigma:
        R = np.exp(-squared / sigma)
        R /= R.sum(axis=1, keepdims=True)
    adata = ad.AnnData(points.copy(), obs=pd.DataFrame(index=[f"c{i}" for i in range(len(points))]))
    adata.obsm[f"X_{key}"] = points
    adata.obsm[f"{key}_assignment"] = sparse.csr_matrix(R)
    adata.uns[key] = {
        "params": {"method": method, "use_rep": "X", "n_nodes": len(nodes), "sigma": sigma or 0.0},
        "nodes": nodes,
        "edges": edges,
        "edge_length": np.linalg.norm(nodes[edges[:, 0]] - nodes[edges[:, 1]], axis=1),
        "objective": np.array([2.0, 1.0]),
        "converged": np.bool_(True),
        "n_iter": 1,
    }
    if weights is not None:
        adata.uns[key]["weights"] = np.array(weights, dtype=float)
    return adata


# A fork F1 (node 2) with four arms: T1 (node 0) left, T2 (7) down, T3 (4) up, T4 (6) right; every edge has length 1.
CROSS = dict(
    nodes=[[0, 0], [1, 0], [2, 0], [2, 1], [2, 2], [3, 0], [4, 0], [2, -1]],
    edges=[[0, 1], [1, 2], [2, 3], [3, 4], [2, 5], [5, 6], [2, 7]],
    points=[[0.5, 0.1], [1.8, 0.1], [2.1, 0.9], [2.0, 2.5], [3.4, 0.0], [4.0, 0.2], [2.1, -0.6], [2.1, -0.9], [1.2, 0]],
)


# Three lines, one above another, and a lone node: parts C1 to C4; tips T1 (node 0) and T2 (3) at the left, ...
LINES = dict(
    nodes=[[0, 0], [1, 0], [2, 0], [0, 3], [1, 2], [2, 3], [5, 0], [6, 0], [9, 9]],
    edges=[[0, 1], [1, 2], [3, 4], [4, 5], [6, 7]],
    points=[[0.2, 0], [1.9, 0.1], [0.1, 2.9], [1.8, 2.8], [5.2, 0], [5.9, 0.2]],
)


def fork_by_hand(root, points, assignment=None):
    """A fork at node 1 under "hand", ordered: tips 0 (left), 3 (down, over node 2) and 4 (up); cells at `points`.

    Sorted by coordinates, T1 is node 0, T2 node 3, T3 node 4; B1 joins 0 and 1, B2 1 and 3, B3 1 and 4. Each cell is
    assigned to its nearest node, or as `assignment` says.
    """
    nodes = [[0, 0], [2, 0], [2, -1], [2, -3], [2, 4]]
    adata = by_hand(nodes, [[1, 0], [1, 2], [3, 2], [4, 1]], points, key="hand", method="hand")
    if assignment is not None:
        adata.obsm["hand_assignment"] = sparse.csr_matrix(assignment)
    tl.order(adata, root=root, key="hand")
    return adata


def noisy(n=300, noise=0.35, seed=3):
    """Three arms in noise, so that the fit has spurs."""
    adata = cells(n, seed=seed, n_features=8)
    adata.X = adata.X + noise * np.random.default_rng(seed).standard_normal(adata.shape)
    return adata


def random_tree(n_nodes, rng):
    """A tree whose edges come in any order and direction."""
    edges = [(int(rng.integers(i)), i) for i in range(1, n_nodes)]
    edges = [edge if rng.random() < 0.5 else edge[::-1] for edge in edges]
    return core.Graph(rng.standard_normal((n_nodes, 2)), np.array(edges)[rng.permutation(n_nodes - 1)])


def recipe(**more):
    """How to learn a DDRTree, its denoising and pruning included."""
    params = dict(
        n_components=3,
        n_nodes=40,
        lam=20.0,
        sigma=0.02,
        gamma=1.0,
        assignment="soft",
        center=True,
        max_iter=100,
        tol=1e-4,
        extrapolate=False,
    )
    smooth = dict(n_components=6, n_neighbors=10, n_steps=2, center=True)
    return core.Recipe("ddrtree", params | more, smooth, dict(min_gain=0.02, resolution=0.3))
