"""What is taken for a matrix and what is refused."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import skeltraj as st
from samples import cells, forked
from skeltraj import core
from skeltraj.core._runtime import check
from skeltraj.core._runtime.check.matrices import _pieces


def test_tensors_of_other_packages_are_not_taken_for_files():
    class Tensor:
        shape, dtype = (30, 6), "float32"

        def __getitem__(self, at):
            raise AssertionError("was sliced")

        def __array__(self, dtype=None, copy=None):
            return forked(30)[0]

    np.testing.assert_array_equal(core.ddrtree(Tensor()).embedding, core.ddrtree(forked(30)[0]).embedding)


@pytest.mark.parametrize(
    ("X", "kind", "message"),
    [
        (np.ma.masked_greater(forked(30)[0], 0.5), ValueError, r"X has \d+ masked value\(s\); wanted all of them"),
        ("anndata", TypeError, "X is an AnnData; for these use skeltraj.tl"),
    ],
)
def test_what_would_be_misread_is_refused(X, kind, message):
    if isinstance(X, str):
        X = pytest.importorskip("anndata").AnnData(forked(30)[0])
    with pytest.raises(kind, match=message):
        core.ddrtree(X)


@pytest.mark.parametrize("rng", [-1, 1.5, "a", True, [0.5]])
@pytest.mark.parametrize(
    "call",
    [
        lambda X, rng: core.ddrtree(X, rng=rng),
        lambda X, rng: core.principal_tree(X, rng=rng),
        lambda X, rng: core.principal_graph(X, rng=rng),
        lambda X, rng: st.tl.ddrtree(ad.AnnData(X), rng=rng),
        lambda X, rng: st.tl.principal_tree(ad.AnnData(X), n_starts=1, rng=rng),
    ],
    ids=["core.ddrtree", "core.principal_tree", "core.principal_graph", "tl.ddrtree", "tl.principal_tree"],
)
def test_what_is_no_seed_is_named(call, rng):
    with pytest.raises((TypeError, ValueError), match=r"^rng=.* wanted a whole number from 0 up, or"):
        call(forked(60)[0], rng)


@pytest.mark.compiled("takes minutes")
@pytest.mark.parametrize("call", [st.tl.ddrtree, st.tl.principal_tree])
def test_numpys_older_generators_are_taken(call):
    fits = []
    for _ in range(2):
        adata = cells(90)
        call(adata, rng=np.random.RandomState(3))
        fits.append(adata)
    key = call.__name__
    np.testing.assert_array_equal(fits[0].uns[key]["nodes"], fits[1].uns[key]["nodes"])


TREE = core.Graph([[-1, 0], [0, 0], [1, 1], [1, -1]], [[0, 1], [1, 2], [1, 3]])
SOME = np.random.default_rng(0).normal(size=(40, 2))
ON = core.locate(TREE, SOME)
CODES = np.arange(40) % 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: core.order(TREE, SOME, root=1.5), "root=1.5 is a float; wanted a node, from 0 to 3"),
        (lambda: core.order(TREE, SOME, root=10**400), r"root=2\*\*1328 or more is not a node"),
        (lambda: core.order(None, SOME, root=0), "graph=None is a NoneType; wanted a Graph"),
        (lambda: core.order(TREE, SOME, 0, [[1.0, 2.0], [3.0]]), "assignment cannot be read as an array of numbers"),
        (lambda: core.order(TREE, SOME, 0, -np.ones((40, 4))), "assignment: -1 is among its weights"),
        (lambda: core.at_nodes(TREE, [-1]), "nodes: there is no -1 among 4 nodes"),
        (lambda: core.at_nodes(TREE, [1.0]), "nodes: entries are of type float64; wanted whole numbers"),
        (lambda: TREE.path(0, -1), "end=-1 is not a node"),
        (lambda: TREE.edges_along([0, 3]), "path: nodes 0 and 3 are not joined"),
        (lambda: TREE.edges_along([0, 400]), "path: there is no 400 among 4 nodes"),
        (lambda: ON.on_path(TREE, [0, 1, 10**6]), "path: there is no 1000000 among 4 nodes"),
        (lambda: TREE.neighbors(7), "node=7 is not a node"),
        (lambda: core.Graph(TREE.nodes, [[0, 1], [1, 0]]), "edges: nodes 0 and 1 are joined more than once"),
        (lambda: core.tip_near(TREE, ON, np.zeros(40, dtype=bool)), "none of 40 points is chosen"),
        (lambda: core.tip_near(TREE, ON, np.arange(3)), "chosen is of shape"),
        (lambda: core.tip_at_extreme(TREE, ON, np.full(40, np.nan), highest=True), "values: none of 40 is finite"),
        (lambda: core.median_node(TREE, [1, -1, 0, 0]), "weight holds NaN, infinite or negative values"),
        (lambda: core.rank_tips(TREE, core.Position([0], [np.nan], [0.0])), "position.fraction: 1 of 1 are out"),
        (lambda: core.locate(TREE, [[1, 2], [3]]), "points cannot be read as an array of numbers"),
        (lambda: core.locate(TREE, SOME + 1j), "points: entries are of type complex128; wanted real numbers"),
        (lambda: core.ddrtree(SOME + 1j), "X has dtype complex128; wanted real numbers"),
        (lambda: core.ddrtree([[1, 2], [3]]), "X cannot be read as an array of numbers"),
        (lambda: core.ddrtree([[1, 2], [3, pd.NA], [4, 5]]), "X has dtype object; wanted real numbers"),
        (lambda: core.ddrtree(SOME, lam=10**400), r"lam=2\*\*1328 or more is out of range"),
        (lambda: core.ddrtree(SOME, n_nodes=10**400), r"n_nodes=2\*\*1328 or more is out of range"),
        (lambda: core.ddrtree(SOME, gamma=np.array([1.0, 2.0])), r"gamma=array\(\[1., 2.\]\) is a ndarray"),
        (lambda: core.principal_tree(SOME, sigma=pd.NA), "sigma=<NA> is a NAType"),
        (lambda: core.ddrtree(SOME, center="no"), "center='no' is a str; wanted True or False"),
        (lambda: core.drtree(SOME, callback=3), "callback=3 is a int; wanted a function or None"),
        (lambda: core.composition(CODES, CODES, SOME[:, 0] + 1j), "pseudotime is of type complex128"),
        (lambda: core.composition(CODES, CODES, ["1"] * 40), "pseudotime is of type <U1"),
        (
            lambda: core.composition(CODES, CODES, SOME[:, 0], n_permutations=10**9),
            "n_permutations=1000000000 is out of",
        ),
        (lambda: core.stretch_means(SOME[:, 0] + 1j, SOME[:, 1]), "values is of type complex128"),
        (lambda: core.stretch_means(np.ma.masked_less(SOME[:, 0], 0), SOME[:, 1]), "values has .* masked value"),
        (lambda: core.smooth_on(TREE, np.ones((40, 4)), SOME, n_steps=10**9), "n_steps=1000000000 is out of range"),
        (lambda: core.thin_counts([[1e300, 1.0]], 0.1), "column 0 holds 1e\\+300; wanted whole numbers from 0 to 1e"),
        (lambda: core.prune(core.Graph(TREE.nodes, []), SOME, SOME), "the skeleton has 4 nodes but no edges"),
        (lambda: check.number(1234569, "eta", at_most=1234567.8), r"eta=1234569 .* wanted a number <= 1234567\.8\."),
        (lambda: check.share(1.0000001, "level"), r"level=1\.0000001 is out of range"),
        (lambda: check.column([1.0000001], "share", 1, 0.0, 1.0), r"as 1\.0000001; wanted 0 to 1"),
        (lambda: check.squares(np.array([1.0001e145]), "points"), r"is 1\.0001e\+145 in size; wanted .* to 1e\+145"),
        (lambda: core.ddrtree(SOME, name=3), "name=3 is a int; wanted what messages call the matrix"),
    ],
)
def test_what_is_wrong_is_named(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_values_in_messages_are_short():
    assert check.in_message(10**400) == "2**1328 or more"
    assert check.in_message(-(10**5000)).startswith("-2**")
    assert check.in_message("a") == "'a'"
    assert len(check.in_message(np.zeros(10_000))) < 200
    assert len(check.in_message("x" * 10_000)) < 200


def test_an_assignment_may_be_of_any_kind():
    R = np.eye(4)[ON.nearest_end(TREE)]
    wanted = core.order(TREE, SOME, 0, sparse.csr_matrix(R)).membership
    for given in (R, R.tolist(), sparse.coo_array(R), R.astype(np.float32), R.astype(bool)):
        np.testing.assert_array_equal(core.order(TREE, SOME, 0, given).membership, wanted)


def test_entries_are_looked_at_some_at_a_time():
    values = np.arange(60.0).reshape(20, 3)
    pieces = list(_pieces(values, 10))
    assert [len(piece) for piece in pieces] == [3] * 6 + [2]
    np.testing.assert_array_equal(np.concatenate(pieces), values)


def test_binomial_responses_are_yes_or_no():
    basis = core.tree_basis(TREE, ON, 2)
    with pytest.raises(ValueError, match="Y: column 1 holds 2; wanted 0 and 1"):
        core.association(np.column_stack([CODES == 1, CODES]), basis, ON, 0, family="binomial")


@pytest.mark.parametrize("dtype", ["f2", ">f8", "g", "u1", "bool"])
def test_counts_of_any_type_are_parted(dtype):
    counts = np.random.default_rng(0).poisson(3.0, (20, 2)).clip(0, 1 if dtype == "bool" else 200).astype(dtype)
    if dtype == "bool":
        with pytest.raises(TypeError, match="counts are of type bool"):
            core.thin_counts(counts, 0.1)
        return
    one, other = core.thin_counts(counts, 0.1)
    assert one.dtype == other.dtype == counts.dtype
    np.testing.assert_array_equal(one + other, counts)
