"""Every public call of `skeltraj.core`: arguments as they should be, what may stand in their place, what must hold."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from calls import Call, Law
from samples import forked
from skeltraj import core
from strategies import columns, matrices, scalars, skeletons, trees, values

# What calls are made with.

N, D = 30, 3


@cache
def rows() -> np.ndarray:
    """Rows on three arms, (N, D)."""
    return forked(N, D, seed=2)[0]


@cache
def tree() -> core.Graph:
    """A tree of 7 nodes with a fork, in the plane."""
    nodes = [[-2, 0], [-1, 0], [0, 0], [1, 0.5], [2, 1], [1, -0.5], [2, -1]]
    return core.Graph(np.array(nodes, dtype=float), np.array([[0, 1], [1, 2], [2, 3], [3, 4], [2, 5], [5, 6]]))


@cache
def on_tree() -> np.ndarray:
    """Points around the tree, (60, 2)."""
    rng = np.random.default_rng(0)
    graph = tree()
    edge, share = np.arange(60) % 6, rng.random((60, 1))
    a, b = graph.nodes[graph.edges[edge]].transpose(1, 0, 2)
    return a + share * (b - a) + 0.05 * rng.standard_normal((60, 2))


@cache
def assignment() -> sparse.csr_matrix:
    squares = ((on_tree()[:, None] - tree().nodes) ** 2).sum(axis=2)
    R = np.exp(-squares / 0.2)
    return sparse.csr_matrix(R / R.sum(axis=1, keepdims=True))


@cache
def position() -> core.Position:
    return core.locate(tree(), on_tree())


@cache
def basis() -> core.TreeBasis:
    return core.tree_basis(tree(), position(), 3)


@cache
def counts() -> np.ndarray:
    return np.random.default_rng(1).poisson(np.exp(1 + on_tree() @ [[0.5, 0.0, -1.0], [0.3, 0.0, 0.0]])).astype(float)


@cache
def recipe() -> core.Recipe:
    return core.learn_tree(rows(), n_components=2, n_starts=1, n_nodes=8, denoise=False, prune=True).recipe


# What may stand in their place.


@st.composite
def graphs(draw) -> Any:
    """A skeleton of any kind: trees, forests, loops, nodes alone, at one place, a mesh; or none."""
    nodes, edges = draw(trees(parts=draw(st.integers(1, 3)), d=st.sampled_from([2, 2, 2, 1, 3])))
    kind = draw(st.sampled_from(["graph", "graph", "mesh", "loop", "at one place", "no edges", "large", "none"]))
    if kind == "none":
        return draw(scalars())
    if kind == "loop" and not (edges == [0, len(nodes) - 1]).all(axis=1).any():
        edges = np.vstack([edges, [[0, len(nodes) - 1]]])
    elif kind == "at one place":
        nodes = np.zeros_like(nodes)
    elif kind == "no edges":
        edges = edges[:0]
    elif kind == "large":
        nodes = nodes * 10.0 ** draw(st.sampled_from([-140, -60, 60, 140]))
    return (core.Mesh if kind == "mesh" else core.Graph)(nodes, edges)


def codes(n: int) -> st.SearchStrategy:
    return columns(n, codes=True)


def numbers(n: int) -> st.SearchStrategy:
    return columns(n, codes=False)


def flags(n: int) -> st.SearchStrategy:
    seeds = st.integers(0, 50).map(lambda seed: np.random.default_rng(seed).random(n) < 0.8)
    return seeds | codes(n)


def tables(n: int, d: int) -> st.SearchStrategy:
    """Matrices, most of them of a shape that fits."""
    fits = matrices(st.sampled_from([n, n, n, n + 1]), st.sampled_from([d, d, d, d + 1]), lazy=False)
    return fits | values(st.just(n), st.just(d), likely_fine=True)


@st.composite
def positions(draw, n: int = 60) -> Any:
    """Positions of n points with any faults."""
    some = position()
    parts = [some.edge, some.fraction, some.distance, None]
    fault = draw(st.integers(0, 7))
    if fault == 4:
        return draw(scalars())
    if fault > 4:
        return core.locate(tree(), np.random.default_rng(fault).standard_normal((n, 2)))
    parts[fault] = draw([codes, numbers, numbers, codes][fault](n))
    return core.Position(*parts)


@st.composite
def weights(draw, n: int = 60) -> Any:
    """An assignment of n points to the nodes of the tree with any faults."""
    if draw(st.booleans()):
        return draw(tables(n, 7))
    R = assignment().copy()
    kind = draw(st.sampled_from(["fewer nodes", "empty rows", "empty", "negative", "NaN", "float32", "none", "coo"]))
    if kind == "fewer nodes":
        R[:, :3] = 0
    elif kind == "empty rows":
        R[:5] = 0
    elif kind == "empty":
        R = R * 0
    elif kind in ("negative", "NaN"):
        R[0, 0] = {"negative": -1.0, "NaN": np.nan}[kind]
    elif kind == "float32":
        R = R.astype(np.float32)
    elif kind == "coo":
        R = R.tocoo()
    return None if kind == "none" else R


def spatial() -> st.SearchStrategy:
    return tables(60, 2)


def options(*names: str) -> st.SearchStrategy:
    return st.dictionaries(st.sampled_from([*names, "a"]), scalars(), max_size=2)


SEEDS = scalars() | st.integers(0, 3).map(np.random.default_rng) | st.integers(0, 3).map(np.random.RandomState)
CALLBACKS = scalars() | st.just(lambda *told: None) | st.just(lambda *told: True)
NAMES = scalars() | st.lists(st.text(max_size=3), max_size=4)
MAX_ITER = scalars()
FEW = scalars().filter(lambda value: not (isinstance(value, int) and 3 < value < 100))  # of what takes long


# What must hold.


def is_finite(*arrays: Any) -> None:
    for array in arrays:
        array = array.data if sparse.issparse(array) else np.asarray(array)
        assert np.isfinite(array).all()


def rows_sum_to_one(R: Any) -> None:
    if hasattr(R, "compute"):
        R = R.compute()
    np.testing.assert_allclose(np.asarray(R.sum(axis=1)).ravel(), 1.0, atol=1e-9)


def never_rises(objective: np.ndarray) -> None:
    is_finite(objective)
    assert (np.diff(objective) <= 1e-9 * np.abs(objective[:-1]).max(initial=0.0)).all(), objective


def is_tree_fit(fit: Any, arguments: dict[str, Any]) -> None:
    is_finite(fit.nodes, fit.edge_length)
    never_rises(fit.objective)
    assert fit.graph.is_tree
    if hasattr(fit, "assignment"):
        rows_sum_to_one(fit.assignment)


def is_graph_fit(fit: Any, arguments: dict[str, Any]) -> None:
    is_finite(fit.nodes, fit.weights)
    never_rises(fit.objective)
    rows_sum_to_one(fit.assignment)


def is_similarity_fit(fit: Any, arguments: dict[str, Any]) -> None:
    is_finite(fit.embedding, fit.weights, fit.value)
    never_rises(-fit.objective)
    assert (fit.weights > 0).all()
    assert abs(fit.similarity - fit.similarity.T).max() == 0


def is_learned(learned: Any, arguments: dict[str, Any]) -> None:
    is_tree_fit(learned.whole, arguments)
    is_finite(learned.nodes)
    rows_sum_to_one(learned.assignment)
    assert learned.graph.is_tree


def is_finite_array(result: Any, arguments: dict[str, Any]) -> None:
    is_finite(result)


def is_position(found: Any, arguments: dict[str, Any]) -> None:
    is_finite(found.fraction, found.distance)
    assert ((found.fraction >= 0) & (found.fraction <= 1)).all()
    assert (found.distance >= 0).all()


def is_ordering(found: Any, arguments: dict[str, Any]) -> None:
    is_position(found.position, arguments)
    assert not np.isinf(found.pseudotime).any()
    assert not (found.pseudotime < 0).any()
    is_finite(found.membership)


def is_pruned(found: Any, arguments: dict[str, Any]) -> None:
    assert not found.graph.n_loops
    is_finite(found.graph.nodes, found.min_gain)


def are_p_values(*names: str) -> Law:
    def law(result: Any, arguments: dict[str, Any]) -> None:
        for name in names:
            p = np.asarray(getattr(result, name), dtype=float)
            assert not ((p < 0) | (p > 1)).any()

    return law


def is_node(result: Any, arguments: dict[str, Any]) -> None:
    assert 0 <= result < arguments["graph"].n_nodes


FITS = dict(n_components=scalars(), max_iter=MAX_ITER, tol=scalars(), callback=CALLBACKS, name=scalars())
NODES = dict(n_nodes=scalars(), sigma=scalars(), gamma=scalars(), assignment=scalars(), rng=SEEDS)
LAZY_ROWS = matrices()
ROWS = matrices(lazy=False)
IN_MEMORY = ("dask", "in memory")
TESTS = dict(
    Y=tables(60, 3),
    basis=scalars(),
    position=positions(),
    family=scalars() | st.sampled_from(["gaussian", "binomial"]),
    size_factors=numbers(60),
    covariates=tables(60, 1),
    sample=codes(60),
    used=flags(60),
    names=NAMES,
    callback=CALLBACKS,
)
WORDS = ("Y: column", "points that are used", "fewer knots", "dispersion", "family")


def made_for_tests(**more: Any) -> Callable[[], dict[str, Any]]:
    return lambda: dict(Y=counts().copy(), basis=basis(), position=position()) | more


def without(named: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in named.items() if name not in names}


def fitted(method: str) -> Any:
    return _fitted(method)


@cache
def _fitted(method: str) -> Any:
    few = {} if method == "drtree" else dict(n_nodes=8)
    return getattr(core, method)(rows(), **few)


@cache
def _learned(method: str) -> Any:
    return core.learn_tree(rows(), method, n_starts=1)


@cache
def _denoised() -> core.Denoised:
    return core.denoise(rows())


def _learn(part: Any) -> tuple[core.Graph, core.Position]:
    return tree(), position()


CALLS = {
    # methods
    "ddrtree": Call(
        core.ddrtree,
        lambda: dict(X=rows().copy(), n_nodes=8),
        FITS
        | NODES
        | dict(
            X=LAZY_ROWS,
            lam=scalars(),
            center=scalars(),
            kernel=scalars() | st.just("precomputed"),
            preset=scalars() | st.sampled_from(["kdd2015", "monocle2"]),
            init=tables(N, 2) | scalars() | st.tuples(tables(N, 2), tables(5, 2)),
            extrapolate=scalars(),
            least_weight=scalars(),
        ),
        is_tree_fit,
        IN_MEMORY,
    ),
    "drtree": Call(
        core.drtree,
        lambda: dict(X=rows().copy()),
        FITS
        | dict(
            X=LAZY_ROWS,
            lam=scalars(),
            center=scalars(),
            kernel=scalars() | st.just("precomputed"),
            init=tables(N, 2) | scalars(),
        ),
        is_tree_fit,
        IN_MEMORY,
    ),
    "principal_tree": Call(
        core.principal_tree,
        lambda: dict(X=rows().copy(), n_nodes=8),
        without(FITS, "n_components") | NODES | dict(X=LAZY_ROWS, init=tables(6, D) | scalars()),
        is_tree_fit,
    ),
    "principal_graph": Call(
        core.principal_graph,
        lambda: dict(X=rows().copy(), n_nodes=8),
        without(FITS, "n_components")
        | NODES
        | dict(
            X=LAZY_ROWS,
            eta=scalars(),
            constant=scalars(),
            candidates=scalars() | tables(8, 8) | tables(6, 6),
            cannot_link=scalars() | tables(2, 2) | st.just([[0, 1]]),
            groups=codes(N),
            min_weight=scalars(),
            init=tables(6, D) | scalars(),
        ),
        is_graph_fit,
        share=0.6,
    ),
    "mpme": Call(
        core.mpme,
        lambda: dict(X=rows()[:16].copy()),
        FITS
        | dict(
            X=ROWS,
            distances=ROWS,
            kernel=scalars() | st.just("precomputed"),
            lam=scalars(),
            C=scalars(),
            embed=scalars() | st.just("laplacian"),
            solver=scalars() | st.just("lbfgs-all-pairs"),
            n_neighbors=scalars(),
        ),
        is_similarity_fit,
        share=0.6,
    ),
    "spl": Call(
        core.spl,
        lambda: dict(X=rows()[:16].copy()),
        FITS
        | dict(
            X=ROWS,
            gamma=scalars(),
            C=scalars(),
            n_neighbors=scalars(),
            neighbors=scalars() | tables(16, 3) | tables(16, 16),
            scale=scalars(),
            center=scalars(),
            solver=scalars(),
        ),
        is_similarity_fit,
        share=0.6,
    ),
    "learn_tree": Call(
        core.learn_tree,
        lambda: dict(X=rows().copy(), n_starts=1),
        dict(
            X=LAZY_ROWS,
            method=scalars() | st.just("principal_tree"),
            n_components=scalars(),
            denoise=scalars() | options("n_steps", "n_neighbors"),
            n_starts=FEW,
            prune=scalars() | options("n_tips", "min_gain"),
            rng=SEEDS,
            callback=CALLBACKS,
            step=CALLBACKS,
            count=CALLBACKS,
            name=scalars(),
            n_nodes=scalars(),
            preset=scalars(),
            sigma=scalars(),
            kernel=scalars() | st.just("precomputed"),
            a=scalars(),
        ),
        is_learned,
        ("n_neighbors", "n_steps", "min_gain", "n_tips"),
        share=0.4,
    ),
    "denoise": Call(
        core.denoise,
        lambda: dict(X=rows().copy()),
        dict(
            X=LAZY_ROWS,
            n_components=scalars(),
            n_neighbors=scalars(),
            n_steps=scalars(),
            n_tangents=scalars(),
            n_reference=scalars(),
            equalize=scalars(),
            compress=scalars(),
            center=scalars(),
            name=scalars(),
        ),
        lambda result, arguments: is_finite(result.values, result.loadings, result.axes),
    ),
    "stability": Call(
        core.stability,
        lambda: dict(
            graph=_learned("ddrtree").graph,
            points=_learned("ddrtree").embedding,
            X=rows().copy(),
            recipe=recipe(),
            root=0,
            n_replicates=2,
        ),
        dict(
            graph=graphs(),
            points=tables(N, D),
            X=tables(N, D),
            recipe=scalars(),
            root=scalars(),
            n_replicates=scalars(),
            vary=scalars() | st.just(("cells", "sigma", "lam", "n_nodes", "rng")) | st.just(["cells"]),
            rng=SEEDS,
            callback=CALLBACKS,
        ),
        lambda result, arguments: is_finite(result.branch_support, result.pseudotime_sd),
        ("skeleton",),
        share=0.3,
    ),
    "support": Call(
        core.support,
        lambda: dict(graph=tree(), points=on_tree(), others=[(tree(), on_tree()[::-1])]),
        dict(
            graph=graphs(),
            points=spatial(),
            others=scalars() | st.lists(st.tuples(graphs(), spatial()), min_size=1, max_size=2),
        ),
        lambda result, arguments: is_finite(result.branch_support, result.edge_support),
        ("skeleton",),
    ),
    # the tree as an object
    "Graph": Call(
        lambda both, names=None: core.Graph(*both, names),
        lambda: dict(both=(tree().nodes, tree().edges)),
        dict(both=skeletons() | trees() | st.tuples(tables(5, 2), tables(4, 2)), names=scalars()),
        lambda graph, arguments: walk(graph),
        ("nodes", "edges", "names"),
    ),
    "Mesh": Call(
        lambda both, names=None: core.Mesh(*both, names),
        lambda: dict(both=(tree().nodes, tree().edges)),
        dict(both=skeletons() | trees() | st.tuples(tables(5, 2), tables(4, 2)), names=scalars()),
        lambda graph, arguments: walk(graph),
        ("nodes", "edges", "names"),
    ),
    "Names": Call(
        lambda **names: core.Graph(tree().nodes, tree().edges, core.Names(**names)),
        lambda: dict(tips=("a", "b", "c"), forks=("d",), branches=("x", "y", "z")),
        dict(tips=NAMES, forks=NAMES, branches=NAMES),
        lambda graph, arguments: walk(graph),
    ),
    **{
        f"Graph.{method}": Call(
            lambda node, graph, method=method: getattr(graph, method)(node),
            lambda: dict(node=2, graph=tree()),
            dict(node=scalars(), graph=graphs().filter(lambda graph: isinstance(graph, core.Graph))),
        )
        for method in ("neighbors", "breadth_first", "depth_first", "distances_from")
    },
    "Graph.path": Call(
        lambda graph, start, end: graph.path(start, end),
        lambda: dict(graph=tree(), start=0, end=6),
        dict(graph=graphs().filter(lambda graph: isinstance(graph, core.Graph)), start=scalars(), end=scalars()),
        words=("node",),
    ),
    "Graph.edges_along": Call(
        lambda path: tree().edges_along(path),
        lambda: dict(path=np.array([0, 1, 2])),
        dict(path=scalars() | codes(3)),
    ),
    "Graph.nearest_node": Call(
        lambda points, among=None: tree().nearest_node(points, among),
        lambda: dict(points=on_tree()),
        dict(points=spatial(), among=scalars() | codes(3)),
    ),
    "locate": Call(
        core.locate,
        lambda: dict(graph=tree(), points=on_tree()),
        dict(graph=graphs(), points=spatial()),
        is_position,
        ("skeleton",),
    ),
    "at_nodes": Call(
        core.at_nodes,
        lambda: dict(graph=tree(), nodes=np.arange(7)),
        dict(graph=graphs(), nodes=scalars() | codes(7)),
        is_position,
        ("skeleton",),
    ),
    "order": Call(
        core.order,
        lambda: dict(graph=tree(), points=on_tree(), root=0, assignment=assignment()),
        dict(graph=graphs(), points=spatial() | positions(), root=scalars(), assignment=weights()),
        is_ordering,
        ("skeleton", "position"),
    ),
    "Position": Call(
        lambda position, graph, **_: (
            position.on(graph),
            position.component(graph),
            position.places(graph),
            position.nearest_end(graph),
            position.distances_from(graph, 0),
        ),
        lambda: dict(position=position(), graph=tree()),
        dict(position=positions().filter(lambda p: isinstance(p, core.Position)), graph=graphs()),
    ),
    "Position.on_path": Call(
        lambda path: position().on_path(tree(), path),
        lambda: dict(path=np.array([0, 1, 2])),
        dict(path=scalars() | codes(3)),
    ),
    "Position.distances_from": Call(
        lambda node: position().distances_from(tree(), node), lambda: dict(node=0), dict(node=scalars())
    ),
    "empty_stretches": Call(
        core.empty_stretches,
        lambda: dict(graph=tree(), position=position()),
        dict(graph=graphs(), position=positions()),
        lambda result, arguments: isinstance(result, tuple),
    ),
    "rank_tips": Call(
        core.rank_tips,
        lambda: dict(graph=tree(), position=position()),
        dict(graph=graphs(), position=positions()),
        lambda result, arguments: is_finite(result[1]),
    ),
    "tip_near": Call(
        core.tip_near,
        lambda: dict(graph=tree(), position=position(), chosen=np.arange(60) < 5),
        dict(graph=graphs(), position=positions(), chosen=flags(60)),
        is_node,
    ),
    "tip_at_extreme": Call(
        core.tip_at_extreme,
        lambda: dict(graph=tree(), position=position(), values=on_tree()[:, 0], highest=True),
        dict(graph=graphs(), position=positions(), values=numbers(60), highest=scalars()),
        is_node,
    ),
    "median_node": Call(
        core.median_node,
        lambda: dict(graph=tree(), weight=np.ones(7)),
        dict(graph=graphs(), weight=numbers(7)),
        is_node,
    ),
    "paths": Call(
        core.paths,
        lambda: dict(graph=tree(), start=0, ends=[4, 6]),
        dict(graph=graphs(), start=scalars(), ends=scalars() | codes(2)),
        lambda part, arguments: walk(part.graph),
        ("node",),
    ),
    "Part.holds": Call(
        lambda position: core.paths(tree(), 0, [4]).holds(position),
        lambda: dict(position=position()),
        dict(position=positions()),
    ),
    "Part.assignment": Call(
        lambda assignment, points: core.paths(tree(), 0, [4]).assignment(
            assignment, core.locate(core.paths(tree(), 0, [4]).graph, points)
        ),
        lambda: dict(assignment=assignment(), points=on_tree()),
        dict(assignment=weights(), points=spatial()),
        lambda R, arguments: rows_sum_to_one(R),
    ),
    "joining_edges": Call(
        core.joining_edges,
        lambda: dict(graph=tree()),
        dict(graph=graphs(), nodes=scalars() | codes(3)),
    ),
    "nodes_on": Call(
        core.nodes_on,
        lambda: dict(graph=tree(), assignment=assignment(), points=on_tree()),
        dict(graph=graphs(), assignment=weights(), points=tables(60, 4)),
        is_finite_array,
        ("point is assigned",),
    ),
    "smooth_on": Call(
        core.smooth_on,
        lambda: dict(graph=tree(), assignment=assignment(), points=on_tree()),
        dict(graph=graphs(), assignment=weights(), points=tables(60, 4), n_steps=scalars()),
        lambda result, arguments: is_finite(result.nodes, result.courses),
        ("point is assigned",),
    ),
    "PlacedSkeleton": Call(
        lambda path: core.PlacedSkeleton.straight(tree(), tree().nodes).along(path),
        lambda: dict(path=np.array([0, 1, 2])),
        dict(path=scalars() | codes(3)),
    ),
    "prune": Call(
        core.prune,
        lambda: dict(graph=tree(), points=on_tree(), data=on_tree()),
        dict(
            graph=graphs(),
            points=spatial(),
            data=spatial(),
            min_gain=scalars(),
            n_tips=scalars(),
            resolution=scalars(),
            counts=numbers(60),
        ),
        is_pruned,
        ("skeleton",),
    ),
    "Pruned.assignment": Call(
        lambda **given: core.prune(tree(), on_tree(), on_tree(), n_tips=2).assignment(**given),
        lambda: dict(assignment=assignment(), points=on_tree()),
        dict(assignment=weights(), points=spatial()),
        lambda R, arguments: rows_sum_to_one(R),
    ),
    # new rows
    **{
        f"{kind.__name__}.transform": Call(
            lambda X, method=method, **more: fitted(method).transform(X, **more),
            lambda: dict(X=rows()[:5]),
            dict(X=tables(5, D)) | (dict(start=tables(5, 2)) if method == "ddrtree" else {}),
            is_finite_array,
        )
        for method, kind in (
            ("ddrtree", core.DDRTreeFit),
            ("drtree", core.DRTreeFit),
            ("principal_tree", core.PrincipalFit),
        )
    },
    **{
        f"LearnedTree.transform of {method}": Call(
            lambda X, method=method: _learned(method).transform(X),
            lambda: dict(X=rows()[:5]),
            dict(X=tables(5, D)),
            is_finite_array,
            share=0.5,
        )
        for method in ("ddrtree", "principal_tree")
    },
    "Denoised.transform": Call(
        lambda X: (_denoised().transform(X), _denoised().rows(X)),
        lambda: dict(X=rows()[:5]),
        dict(X=tables(5, D)),
        lambda result, arguments: is_finite(*result),
    ),
    # responses
    "tree_basis": Call(
        core.tree_basis,
        lambda: dict(graph=tree(), position=position()),
        dict(graph=graphs(), position=positions(), n_knots=scalars()),
        lambda result, arguments: is_finite(result.roughness),
        ("skeleton",),
    ),
    "association": Call(
        core.association,
        made_for_tests(root=0),
        TESTS | dict(root=scalars(), alike=scalars()),
        are_p_values("p_value"),
        WORDS,
        share=0.7,
    ),
    "branch_test": Call(
        core.branch_test,
        made_for_tests(root=0, fork=2),
        TESTS | dict(root=scalars(), fork=scalars(), align=scalars(), dispersion=numbers(3)),
        are_p_values("p_value"),
        (*WORDS, "arm", "points", "node"),
        share=0.5,
    ),
    "condition_test": Call(
        core.condition_test,
        made_for_tests(condition=np.arange(60) // 6 % 2),
        TESTS | dict(condition=codes(60), dispersion=numbers(3)),
        are_p_values("p_value", "p_level", "p_shape"),
        (*WORDS, "condition", "sample"),
        share=0.5,
    ),
    "contrast": Call(
        core.contrast,
        made_for_tests(first=0, second=4),
        TESTS | dict(first=scalars(), second=scalars(), dispersion=numbers(3)),
        are_p_values("p_value"),
        (*WORDS, "node"),
        share=0.5,
    ),
    "trends": Call(
        core.trends,
        made_for_tests(root=0),
        without(TESTS, "sample") | dict(root=scalars(), dispersion=numbers(3)),
        words=WORDS,
        share=0.7,
    ),
    "split_association": Call(
        core.split_association,
        lambda: dict(counts=counts().copy(), basis=basis(), position=position(), learn=_learn, n_splits=1),
        without(TESTS, "Y", "family")
        | dict(
            counts=tables(60, 3),
            learn=CALLBACKS | st.just(_learn),
            n_splits=FEW,
            share=scalars(),
            n_knots=scalars(),
            tested=scalars() | codes(2),
            rng=SEEDS,
        ),
        are_p_values("p_value"),
        WORDS,
        share=0.4,
    ),
    "thin_counts": Call(
        core.thin_counts,
        lambda: dict(counts=counts().copy(), dispersion=0.1),
        dict(counts=tables(10, 3), dispersion=scalars() | numbers(3), share=scalars(), rng=SEEDS),
    ),
    # groups
    "composition": Call(
        core.composition,
        lambda: dict(
            groups=np.arange(60) % 3, branch=np.arange(60) // 20, pseudotime=on_tree()[:, 0], n_permutations=9
        ),
        dict(
            groups=codes(60),
            branch=codes(60),
            pseudotime=numbers(60),
            sample=codes(60),
            lineages=scalars() | tables(60, 2),
            n_bins=scalars(),
            n_permutations=scalars(),
            rng=SEEDS,
            callback=CALLBACKS,
        ),
        are_p_values("p_value", "shift_p_value", "gap_p_value", "chi2_p_value"),
        ("cells",),
    ),
    "direction": Call(
        core.direction,
        lambda: dict(graph=tree(), position=position(), score=on_tree()[:, 0], n_permutations=9),
        dict(
            graph=graphs(),
            position=positions(),
            vectors=spatial(),
            node_places=tables(7, 2),
            score=numbers(60),
            neighbors=scalars() | tables(60, 60),
            n_permutations=scalars(),
            rng=SEEDS,
            callback=CALLBACKS,
        ),
        are_p_values("p_value", "root_p_value"),
        ("points", "score"),
    ),
    "direction of vectors": Call(
        core.direction,
        lambda: dict(
            graph=tree(), position=position(), vectors=on_tree() * 0 + 1, node_places=tree().nodes, n_permutations=9
        ),
        dict(graph=graphs(), position=positions(), vectors=spatial(), node_places=tables(7, 2)),
        are_p_values("p_value", "root_p_value"),
        ("points", "vectors"),
    ),
    "stretch_means": Call(
        core.stretch_means,
        lambda: dict(values=on_tree()[:, 1], pseudotime=on_tree()[:, 0]),
        dict(values=numbers(60), pseudotime=numbers(60), n_bins=scalars(), share=scalars(), level=scalars()),
    ),
    "survival": Call(
        core.survival,
        lambda: dict(
            time=1 + np.arange(60.0) % 17, event=np.arange(60) % 3 == 0, pseudotime=on_tree()[:, 0],
            branch=np.arange(60) // 30,
        ),
        dict(
            time=numbers(60),
            event=codes(60) | flags(60),
            pseudotime=numbers(60),
            branch=codes(60),
            covariates=tables(60, 2),
            covariate_names=NAMES,
            branch_names=NAMES,
            reference=scalars(),
            n_stretches=scalars(),
            horizon=scalars(),
        ),
        lambda result, arguments: is_finite(result.pseudotime.log_hazard_ratio),
        ("samples", "events", "coefficient", "x1", "x2"),
    ),
    "Curve.restricted_mean": Call(
        lambda horizon: core.survival(
            1 + np.arange(60.0) % 17, np.arange(60) % 3 == 0, on_tree()[:, 0], np.zeros(60, dtype=int)
        ).branches[0].curve.restricted_mean(horizon),
        lambda: dict(horizon=3.0),
        dict(horizon=scalars()),
        is_finite_array,
        share=0.3,
    ),
}  # fmt: skip


def walk(graph: core.Graph) -> None:
    """Everything that is known of a graph, once."""
    assert np.isfinite(graph.edge_length).all()
    assert len(graph.tip_names) == len(graph.tips)
    assert len(graph.branch_names) == len(graph.branches)
    assert len(graph.branch_of_edge) == len(graph.edges)
    assert (graph.branch_of_edge >= 0).all()
    assert graph.n_loops >= 0
    repr(graph)


# What calls give, and what is read alone: not to be made by users, or tested with the call that is named.
GIVEN_BY = {
    "Arms": "branch_test",
    "Association": "association",
    "BranchProgress": "composition",
    "BranchTest": "branch_test",
    "Certificate": "mpme",
    "ChiSquare": "survival",
    "Composition": "composition",
    "ConditionTest": "condition_test",
    "Contrast": "contrast",
    "CoxModel": "survival",
    "Curve": "Curve.restricted_mean",
    "DDRTreeFit": "DDRTreeFit.transform",
    "DRTreeFit": "DRTreeFit.transform",
    "Denoised": "Denoised.transform",
    "Direction": "direction",
    "EmptyStretch": "empty_stretches",
    "Kept": "prune",
    "LearnedTree": "LearnedTree.transform of ddrtree",
    "LineageBins": "composition",
    "METHODS": "learn_tree",
    "Method": "learn_tree",
    "Ordering": "order",
    "PrincipalFit": "PrincipalFit.transform",
    "Pruned": "Pruned.assignment",
    "Recipe": "stability",
    "Removal": "prune",
    "SimilarityFit": "mpme",
    "Skeleton": "drtree",
    "SplitAssociation": "split_association",
    "Stability": "stability",
    "StartSupport": "learn_tree",
    "StretchMeans": "stretch_means",
    "Support": "support",
    "Survival": "survival",
    "SurvivalGroup": "survival",
    "TipChoice": "learn_tree",
    "TreeBasis": "tree_basis",
    "Trends": "trends",
}
