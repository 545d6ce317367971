"""Kernels give the same results, to rounding, whether they are compiled or not; no number overflows on the way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from samples import as_entries, forked
from skeltraj import core
from skeltraj.core._curves.likely_dispersion import most_likely
from skeltraj.core._ddrtree_round import preconditioner
from skeltraj.core._ddrtree_round.node_system import add_overlap, overlap_times
from skeltraj.core._geometry.assign import assign, node_index
from skeltraj.core._geometry.kdtree import build
from skeltraj.core._geometry.spanning_tree import _boruvka, spanning_tree
from skeltraj.core._solvers import cholesky, factor_pattern
from skeltraj.core._solvers.tree_hats import hats
from skeltraj.core._solvers.tree_system import TreeSystem


def geometry(X):
    """Spanning trees both ways, assignment with and without a k-d tree."""
    nodes = np.repeat(X[:30], 2, axis=0)  # each twice: distances that tie
    tree = build(nodes)
    soft = assign(X, nodes, 0.1)
    many = np.random.default_rng(1).random((1600, 2))
    return {
        "of many": assign(X[:9, :2], many, 1e-4, node_index(many)).weights.toarray(),
        **{f"in {d}": assign(X[:, :d], nodes[:, :d], 0.1).weights.toarray() for d in (1, 3, 4, 5)},
        "prim": spanning_tree(nodes),
        "boruvka": np.sort(_boruvka(tree), axis=1),
        "soft": soft.weights.toarray(),
        "cost": soft.cost,
        "hard": assign(X, nodes, 0.0).weights.toarray(),
        "indexed": assign(X, nodes, 0.01, tree).weights.toarray(),
        "few": node_index(nodes) is None,
    }


def systems(X):
    """Linear systems of a tree and of a ring with chords."""
    n = 40
    pairs = np.array([(i, (i + 1) % n) for i in range(n)] + [(i, i + 9) for i in range(0, n - 9, 7)])
    at = factor_pattern.pattern(n, pairs)
    entries = np.zeros(at.n_entries)
    entries[factor_pattern.find(at, pairs)] = -1.0
    entries[at.diagonal] = 6.0
    made = cholesky.factor(at, entries)
    edges = np.array([(i // 2, i) for i in range(1, n)])
    R, overlap = sparse.random(50, 30, 0.2, format="csr", random_state=0), np.zeros((30, 30))
    [entries] = as_entries(R)
    add_overlap(entries, overlap)
    tree = TreeSystem(edges, 2.0, np.linspace(0, 3, n))
    smooth = hats(tree.order[:30], tree.parent[:30], 4)
    return {
        "sparse": cholesky.solve(at, made, X[:n]),
        "inverse": cholesky.inverse_entries(at, made),
        "tree": tree.solve(X[:n]),
        "hats": smooth.as_matrix().toarray(),
        "overlap of hats": preconditioner._overlap([entries], smooth),
        "one node": TreeSystem(edges[:0], 0.0, np.array([2.0])).solve(X[:1]),
        "overlap": overlap,
        **{f"products with {m}": overlap_times([entries], X[:30, :m]) for m in (2, 3)},
    }


def fits(X):
    """Each of the methods, for a few rounds; dense and sparse rows."""
    few = dict(max_iter=3)
    S = sparse.csr_matrix(np.where(np.abs(X) > 0.1, X, 0.0))
    made = {
        "ddrtree": core.ddrtree(X, 2, n_nodes=12, **few),
        "of sparse": core.ddrtree(S, 2, n_nodes=12, **few),
        "of kernel": core.ddrtree(X @ X.T, 3, kernel="precomputed", n_nodes="all", **few),
        "drtree": core.drtree(X, 2, **few),
        "principal tree": core.principal_tree(X, n_nodes=12, **few),
        "principal graph": core.principal_graph(X, n_nodes=8, **few),
        "mpme": core.mpme(X, 2, **few),
        "spl": core.spl(X, 2, **few),
    }
    denoised = core.denoise(np.round(X, 1), 3)
    return {name: fit.objective for name, fit in made.items()} | {
        "denoised": denoised.values,
        "new rows": denoised.transform(X[:5]),
        "drawn": core.denoise(X, 3, n_reference=40, equalize=True).values,
    }


def responses(X):
    """Positions, and tests and curves of counts along a skeleton, with donors and without."""
    line = core.Graph(np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.5], [2.0, -0.5]]), np.array([[0, 1], [1, 2], [1, 3]]))
    rng = np.random.default_rng(0)
    places = rng.random((90, 2)) * [2, 1] - [0, 0.5]
    position = core.locate(line, places)
    basis = core.tree_basis(line, position, 3)
    Y = rng.poisson(np.exp(1 + places[:, :1]), (90, 3)).astype(float)
    Y[:, 2] = np.arange(90) % 30 == 0
    donor = np.arange(90) % 6
    args = (Y, basis, position)
    yes = (Y > 3).astype(float)
    families = {"negative_binomial": Y, "gaussian": Y, "binomial": yes}
    more = dict(covariates=X[:90, :2])
    return {
        **{
            f"{family}, {what}": core.association(values, *args[1:], 0, family=family, **more, **given).change
            for family, values in families.items()
            for what, given in (("points", {}), ("donors", dict(sample=donor)))
        },
        "conditions of points": core.condition_test(*args, donor % 2, **more).p_value[:2],
        "places": core.contrast(*args, 0, 2).p_value[:2],
        "dispersions": most_likely(Y.T.copy(), np.full((3, 90), 3.0), np.full(3, 0.5)),
        "edge": position.edge,
        "distance": position.distance,
        "association": core.association(*args, 0).p_value[:2],
        "of sparse": core.association(sparse.csc_matrix(Y), basis, position, 0).p_value[:2],
        "gaussian": core.association(*args, 0, family="gaussian").p_value,
        "donors": core.association(*args, 0, sample=donor).p_value[:2],
        "yes or no": core.association(yes, basis, position, 0, family="binomial", sample=donor).change,
        "branches": core.branch_test(*args, 0, 1).p_value[:2],
        "conditions": core.condition_test(*args, donor % 2, sample=donor).p_value[:2],
        "trends": core.trends(*args, 0, covariates=X[:90, :1]).curve,
    }


def labels(X):
    """Permutations of labels."""
    group, branch = np.arange(60) % 2, np.arange(60) % 3
    made = core.composition(group, branch, X[:60, 0], n_permutations=50)
    return {"branches": np.nan_to_num(made.p_value, nan=-1.0)}


PARTS = [geometry, systems, fits, responses, labels]


def results(part):
    return {name: np.asarray(values) for name, values in part(forked(120)[0]).items()}


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="nothing is compiled that could be compared")
def test_results_are_those_without_compilation(tmp_path):
    code = (
        "import warnings, numpy as np, test_interpreted as here\n"
        "warnings.simplefilter('error', RuntimeWarning)\n"
        "for part in here.PARTS:\n"
        f"    np.savez(f'{tmp_path}/{{part.__name__}}.npz', **here.results(part))\n"
    )
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    for part in PARTS:
        without = np.load(tmp_path / f"{part.__name__}.npz")
        for name, values in results(part).items():
            np.testing.assert_allclose(without[name], values, rtol=1e-6, atol=1e-9, err_msg=f"{part.__name__}: {name}")
