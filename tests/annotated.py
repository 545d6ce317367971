"""AnnData as hostile as files and sessions hold them, every public call of `tl`, `get` and `pl`, and what stays."""

from __future__ import annotations

import copy
import functools
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path

import anndata as ad
import h5py
import numpy as np
import pandas as pd
from hypothesis import reject
from hypothesis import strategies as st
from scipy import sparse

from samples import cells
from skeltraj import get, pl, tl
from strategies import contained, scalars

SLOTS = ("obsm", "varm", "obsp", "varp", "layers", "uns")
ROOMS = {"tl": tl, "get": get, "pl": pl}

# What every call is given beside the AnnData so that it works on the cells of `studied_cells`.
QUIET = dict(progress=False)
FIT = dict(max_iter=6, **QUIET)
SMALL = dict(n_nodes=8, n_starts=1, **FIT)
CALLS = {
    "tl.association": dict(genes=["gene0", "gene1"], **QUIET),
    "tl.attach": dict(key="parts"),
    "tl.branch_test": dict(genes=["gene0", "gene1"], **QUIET),
    "tl.cluster_trends": dict(n_clusters=2, genes=["gene0", "gene1", "gene2"]),
    "tl.composition": dict(groupby="stage", n_permutations=9, **QUIET),
    "tl.ddrtree": dict(n_components=2, **SMALL),
    "tl.direction": dict(score="place", n_permutations=9, **QUIET),
    "tl.drtree": FIT,
    "tl.ingest": dict(**QUIET),
    "tl.mpme": FIT,
    "tl.order": dict(root={"stage": "stem"}),
    "tl.principal_graph": dict(n_nodes=8, **FIT),
    "tl.principal_tree": SMALL,
    "tl.prune": {},
    "tl.rank_genes_groups": dict(test="F1"),
    "tl.select_path": dict(start="T1", end="T2"),
    "tl.spl": FIT,
    "tl.stability": dict(n_replicates=2, **QUIET),
    "tl.survival": dict(time="time", event="event"),
    "tl.trends": dict(genes=["gene0", "gene1"], **QUIET),
    "get.assignment": {},
    "get.association": {},
    "get.branch_test": {},
    "get.composition": dict(groupby="stage"),
    "get.covariate": dict(column="place"),
    "get.direction": {},
    "get.graph": {},
    "get.groups": dict(groupby="stage"),
    "get.heatmap": {},
    "get.networkx": {},
    "get.nodes_on_basis": dict(basis="umap"),
    "get.ordered": {},
    "get.skeleton_on_basis": dict(basis="umap"),
    "get.stability": {},
    "get.stored": {},
    "get.summary": {},
    "get.survival": {},
    "get.to_scfates": {},
    "get.to_treedata": {},
    "get.trajectory_tables": {},
    "get.trends": {},
    "pl.adjacency": dict(groupby="stage"),
    "pl.composition": dict(groupby="stage"),
    "pl.covariate": dict(column="place"),
    "pl.dendrogram": dict(color="stage"),
    "pl.graph": dict(color="stage"),
    "pl.graph_3d": dict(color="stage"),
    "pl.heatmap": {},
    "pl.objective": {},
    "pl.progression": dict(groupby="stage"),
    "pl.report": dict(interactive=False, groupby=[], genes=["gene0"]),
    "pl.similarity": dict(key="mpme"),
    "pl.stability": {},
    "pl.survival": {},
    "pl.trends": dict(genes=["gene0"]),
    "pl.volcano": {},
}
FITS = ("tl.ddrtree", "tl.drtree", "tl.mpme", "tl.principal_graph", "tl.principal_tree", "tl.spl")


def function(name: str):
    """A public function by the names of its room and its own."""
    room, _, own = name.partition(".")
    return getattr(ROOMS[room], own)


def call(name: str, adata, **more):
    """Call a public function with arguments of which each is replaced where another is given."""
    given = CALLS[name] | more
    if name == "tl.ingest" and "adata_ref" not in more:
        given["adata_ref"] = _studied()
    return function(name)(adata, **given)


@functools.cache
def _studied() -> ad.AnnData:
    adata = cells(90, n_features=4)
    rng = np.random.default_rng(0)
    adata.obs["group"] = pd.Categorical(np.array(["a", "b/c"])[rng.integers(0, 2, 90)])
    adata.obs["time"], adata.obs["event"] = rng.exponential(size=90), rng.random(90) < 0.6
    adata.obs["sample"] = pd.Categorical([f"s{i % 6}" for i in range(90)])
    adata.layers["counts"] = rng.poisson(3.0, adata.shape)
    adata.obsm["X_umap"] = adata.X[:, :2].copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few samples, of loops
        tl.mpme(adata, max_iter=100)
        tl.drtree(adata, max_iter=5)
        tl.principal_graph(adata, n_nodes=8, max_iter=5)
        tl.ddrtree(adata, 3, n_nodes=14, denoise=3, n_starts=2, prune={"n_tips": 3}, max_iter=10)
        for key in ("mpme", "drtree", "principal_graph"):
            tl.order(adata, 0, key=key)
        tl.order(adata, {"stage": "stem"})
        tl.principal_tree(adata, n_nodes=8, n_starts=1, max_iter=5, key_added="parts")
        _cut(adata.uns["parts"])
        tl.composition(adata, "stage", n_permutations=9)
        tl.composition(adata, "group", n_permutations=9)
        tl.association(adata)
        tl.association(adata, condition="group")
        tl.association(adata, columns=["place"])
        tl.branch_test(adata)
        tl.trends(adata)
        tl.cluster_trends(adata, 2)
        tl.survival(adata, "time", "event", covariates=["place"])
        tl.stability(adata, n_replicates=2)
        tl.direction(adata, score="place", n_permutations=9)
    return adata


def _cut(fit) -> None:
    """Take one edge out of a tree, so that it is in two parts."""
    middle = len(fit["edges"]) // 2
    for name in ("edges", "edge_length", "weights"):
        fit[name] = np.delete(fit[name], middle, axis=0)


def studied_cells(of: str = "") -> ad.AnnData:
    """90 cells on three arms with every result, and four other skeletons of them, three ordered; new ones each time.

    For a report, which draws all there is, without most results.
    """
    adata = _studied().copy()
    if of == "pl.report":
        for name in ("stability", "survival", "association", "condition_test", "branch_test", "trends", "direction"):
            del adata.uns["ddrtree"][name]
    return adata


# What an AnnData holds, to the last bit.


def taken(adata: ad.AnnData) -> dict[str, object]:
    """A copy of all that an AnnData holds, which shares nothing with it."""
    own = {slot: {key: _own(value) for key, value in getattr(adata, slot).items()} for slot in SLOTS}
    return own | {"obs": adata.obs.copy(deep=True), "var": adata.var.copy(deep=True), "X": _own(_matrix(adata))}


def _matrix(adata: ad.AnnData) -> object:
    X = adata.X
    return X[:] if adata.isbacked and not isinstance(X, np.ndarray) else X


def _own(value: object) -> object:
    if isinstance(value, h5py.Dataset):  # of an object on disk
        return value[()]
    return value if hasattr(value, "dask") else copy.deepcopy(value)


def assert_untouched(adata: ad.AnnData, before: dict[str, object]) -> None:
    """Assert that an AnnData holds exactly what was taken before."""
    assert_same(taken(adata), before, "adata")


def assert_same(a: object, b: object, at: str) -> None:
    """Assert that two stored things are of one type and hold the same."""
    assert type(a) is type(b), f"{at} is now a {type(a)}, was a {type(b)}"
    if isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b, obj=at)
    elif isinstance(a, Mapping):
        assert list(a) == list(b), f"{at} has other keys"
        for key in a:
            assert_same(a[key], b[key], f"{at}[{key!r}]")
    elif sparse.issparse(a):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), at
        assert_same(a.tocoo().data, b.tocoo().data, at)
    elif isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), at
        if a.dtype == object:  # which may hold what cannot be compared
            a, b = a.astype(str), b.astype(str)
        np.testing.assert_array_equal(a, b, err_msg=at)
    elif hasattr(a, "dask"):
        assert a.name == b.name, at  # a view slices it anew each time
    elif isinstance(a, pd.Series | pd.Index):
        assert a.equals(b), at
    elif not callable(getattr(a, "to_memory", None)):
        assert repr(a) == repr(b), at


# Hostile AnnData.

NAMES = [
    "",
    " ",
    "not there",
    "a/b",
    "..",
    ".",
    "<script>alert(1)</script>",
    "شجرة",
    "a\0",
    "0",
    "nan",
    "None",
    "$x_{",
    "%s",
]


def _column(kind: str, n: int, rng: np.random.Generator) -> object:
    """A column of `obs`."""
    codes = rng.integers(0, 3, n)
    return {
        "text": np.array(["u", "v", "w"], dtype=object)[codes],
        "odd names": pd.Categorical(np.array(NAMES[:3], dtype=object)[codes]),
        "script": pd.Categorical(np.array(["<script>", "شجرة", "a/b"])[codes]),
        "unused and missing": pd.Categorical.from_codes(codes - 1, categories=["z", "u", "unused", "more"]),
        "all missing": pd.Categorical.from_codes(np.full(n, -1), categories=["u"]),
        "no categories": pd.Categorical([None] * n),
        "one group": pd.Categorical(["u"] * n),
        "each its own": pd.Categorical([f"g{i}" for i in range(n)]),
        "numbers as groups": pd.Categorical(codes),
        "nullable whole": pd.array([pd.NA, *codes[1:]][:n], dtype="Int64"),
        "nullable real": pd.array([pd.NA, *codes[1:]][:n], dtype="Float64"),
        "nullable flags": pd.array([pd.NA, *(codes[1:] > 1)][:n], dtype="boolean"),
        "nullable text": pd.array([pd.NA, *np.array(["u", "v", "w"])[codes[1:]]][:n], dtype="string"),
        "flags": codes > 1,
        "NaN": np.full(n, np.nan),
        "inf": np.where(codes > 1, np.inf, 1.0),
        "huge": np.where(codes > 1, 1e300, -1e300),
        "constant": np.ones(n),
        "small": codes.astype(np.int8),
        "half": codes.astype(np.float16),
        "complex": codes + 1j,
        "dates": pd.to_datetime(codes, unit="D"),
        "mixed": np.array([None, 1, "a"], dtype=object)[codes],
        "lists": np.array([[1]] * n + [None], dtype=object)[:n],
        "numbers as text": codes.astype(str).astype(object),
    }[kind]


_COLUMNS = (
    "text|odd names|script|unused and missing|all missing|no categories|one group|each its own|numbers as groups|"
    "nullable whole|nullable real|nullable flags|nullable text|flags|NaN|inf|huge|constant|small|half|complex|dates|"
    "mixed|lists|numbers as text"
).split("|")


def _new_column(adata, draw, rng):
    name = draw(st.sampled_from(["stage", "place", "group", "time", "event", "sample"]))
    adata = adata.copy() if adata.is_view else adata
    adata.obs[name] = _column(draw(st.sampled_from(_COLUMNS)), adata.n_obs, rng)
    return adata


def _new_matrix(adata, draw, rng):
    adata = adata.copy() if adata.is_view else adata
    kind = draw(st.sampled_from(["none", "C", "F", "csr", "csc", "dask", "read-only", "csr_array"]))
    dtype = draw(st.sampled_from(["f8", "f4", "f2", "i8", "u1", "bool", "object", "c16"]))
    if kind == "none" or not adata.n_obs or not adata.n_vars:
        adata.X = None
        return adata
    X = rng.poisson(2.0, adata.shape) if draw(st.booleans()) else rng.standard_normal(adata.shape)
    X = X.astype(float)
    spoiled = draw(st.sampled_from(["not", "NaN", "inf", "huge", "constant", "zero"]))
    if spoiled in ("constant", "zero"):
        X[:] = float(spoiled == "constant")
    elif spoiled != "not":
        X.flat[0] = {"NaN": np.nan, "inf": np.inf, "huge": 1e300}[spoiled]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if draw(st.booleans()):
            adata.X = contained(X, dtype, kind)
        else:
            adata.layers["counts"] = contained(X, dtype, kind)
    return adata


def _in_obsm(adata, draw, rng):
    adata = adata.copy() if adata.is_view else adata
    name = draw(st.sampled_from(["X_umap", "X_pca", "X_ddrtree", "ddrtree_assignment", "ddrtree_position", "X_mpme"]))
    n = adata.n_obs
    adata.obsm[name] = draw(
        st.sampled_from(
            [
                rng.standard_normal((n, 2)),
                rng.standard_normal((n, 3, 2)),
                rng.standard_normal((n, 1)),
                np.zeros((n, 3)),
                np.full((n, 3), np.nan),
                np.full((n, 12), np.inf),
                sparse.csr_matrix(rng.random((n, 12))),
                sparse.csc_matrix((n, 2)),
                pd.DataFrame(rng.random((n, 3)), index=adata.obs_names, columns=["a", "b", "c"]),
                pd.DataFrame({"edge": ["a"] * n, "fraction": 0.5, "distance": 0.0}, index=adata.obs_names),
                rng.integers(0, 3, (n, 3)),
                np.array([["a", "b"]] * n),
                rng.standard_normal((n, 3)) + 1j,
            ]
        )
    )
    return adata


def _some_cells(adata, draw, rng):
    n = draw(st.sampled_from([0, 1, 2, 3, 4, 5, 6, 40]))
    some = adata[rng.permutation(adata.n_obs)[:n]]
    return some if draw(st.booleans()) else some.copy()


def _some_genes(adata, draw, rng):
    some = adata[:, rng.permutation(adata.n_vars)[: draw(st.sampled_from([0, 1, 2, 4]))]]
    return some if draw(st.booleans()) else some.copy()


def _names_of_cells(adata, draw, rng):
    adata = adata.copy() if adata.is_view else adata
    names = [f"c{i}" for i in range(adata.n_obs)]
    chosen = draw(st.sampled_from(["repeated", "odd", "integers", "one missing"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if chosen == "repeated":
            adata.obs_names = ["cell0"] * adata.n_obs
        elif chosen == "odd":
            adata.obs_names = [*NAMES, *names][: adata.n_obs]
        elif chosen == "integers":
            adata.obs_names = [str(i) for i in range(adata.n_obs)]
        else:
            adata.obs_names = ["nan", *names][: adata.n_obs]
    return adata


def _names_of_genes(adata, draw, rng):
    adata = adata.copy() if adata.is_view else adata
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = draw(st.sampled_from([["gene0"] * 4, NAMES[:4], NAMES[4:8], ["stage", "place", "gene0", "gene1"]]))
        adata.var_names = names[: adata.n_vars]
    return adata


def _lost(adata, draw, rng):
    adata = adata.copy() if adata.is_view else adata
    slot = draw(st.sampled_from(["obs", "obsm", "varm", "uns", "obsp", "var"]))
    there = list(getattr(adata, slot).keys())
    if there:
        del getattr(adata, slot)[draw(st.sampled_from(there))]
    return adata


def _with_others(adata, draw, rng):
    other = cells(5, n_features=4)
    other.obs_names = [f"other{i}" for i in range(5)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ad.concat(
            [adata, other],
            join=draw(st.sampled_from(["inner", "outer"])),
            merge="first",
            uns_merge=draw(st.sampled_from([None, "same", "unique", "first", "only"])),
        )


def _on_disk(adata, draw, rng):
    folder = Path(tempfile.mkdtemp())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            adata.write_h5ad(folder / "a.h5ad")
            backed = None if adata.X is None else draw(st.sampled_from([None, "r"]))
            return ad.read_h5ad(folder / "a.h5ad", backed=backed)
    except (TypeError, ValueError, NotImplementedError, RuntimeError, KeyError, AttributeError, OSError):
        return adata  # what anndata does not write


CHANGES = {
    "column": _new_column,
    "matrix": _new_matrix,
    "obsm": _in_obsm,
    "cells": _some_cells,
    "genes": _some_genes,
    "cell names": _names_of_cells,
    "gene names": _names_of_genes,
    "lost": _lost,
    "others": _with_others,
    "file": _on_disk,
}


# AnnData and pandas do not join, cut or write all that they hold.
ANNDATA_REFUSES = (
    TypeError, ValueError, NotImplementedError, RuntimeError, KeyError, AttributeError, OSError, IndexError,
    pd.errors.InvalidIndexError,
)  # fmt: skip


@st.composite
def annotated(draw, of="", most=3) -> ad.AnnData:
    """The studied cells after up to `most` changes of a hostile kind."""
    adata = studied_cells(of)
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    for change in draw(st.lists(st.sampled_from(sorted(CHANGES)), min_size=1, max_size=most)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of names that are not unique
                adata = CHANGES[change](adata, draw, rng)
        except Exception as error:
            if not (isinstance(error, ANNDATA_REFUSES) or type(error).__module__.startswith("anndata")):
                raise
            continue
        if adata.isbacked:
            break
    try:
        repr(adata)
    except ANNDATA_REFUSES:  # its own parts no longer fit together, and anndata refuses to read them
        reject()
    return adata


WORDS = (
    "stage place group time gene0 gene1 umap X X_umap counts T1 T2 T3 F1 B1 root ddrtree mpme principal_graph drtree "
    "ddrtree_branch ddrtree_pseudotime"
).split()


def arguments() -> st.SearchStrategy:
    """Any value in the place of any argument: of another type, a name that is there or is not, or several."""
    names = st.sampled_from([*NAMES, *WORDS])
    few = scalars().filter(lambda value: type(value) is not int or abs(value) < 1000 or abs(value) > 2**62)
    several = st.lists(names | few, max_size=3)
    return st.one_of(names, few, several, several.map(tuple), st.dictionaries(names, few, max_size=2))


# Damaged entries.


def paths(entry: object, at: tuple = ()):
    """Where each stored entry stands, those of dictionaries within dictionaries included."""
    if isinstance(entry, Mapping) and not isinstance(entry, pd.DataFrame):
        for key in entry:
            yield (*at, key)
            yield from paths(entry[key], (*at, key))
    elif isinstance(entry, pd.DataFrame):
        for column in entry.columns:
            yield (*at, column)


def damaged(value: object, how: str, rng: np.random.Generator) -> object:
    """A stored value after damage of a kind; the value itself where the damage does not apply."""
    if how in ("text", "number", "none", "list", "dictionary", "negative", "too large"):
        fill = {"text": "text", "number": 1.5, "none": None, "list": [1, "a"], "dictionary": {"a": 1}}
        whole = {"negative": -3, "too large": 10**6}
        if how in whole and isinstance(value, np.ndarray | pd.Series) and len(value) and value.dtype.kind in "iu":
            value = value.copy()
            (value.flat if isinstance(value, np.ndarray) else value.array)[0] = whole[how]
            return value
        return (fill | whole)[how]
    if isinstance(value, pd.DataFrame):
        by = {"half": value.iloc[: len(value) // 2], "permuted": value.iloc[::-1], "turned": value.iloc[:, ::-1]}
        return by.get(how, value)
    if sparse.issparse(value):
        return value[::-1] if how == "permuted" else value
    if isinstance(value, pd.Series):
        if how == "permuted":
            return pd.Series(value.array[::-1], index=value.index)
        if how == "NaN" and value.dtype.kind == "f":
            return value.where(np.arange(len(value)) > 0)
        return value.astype(object) if how == "object" else value
    if isinstance(value, np.ndarray) and value.ndim:
        if how == "NaN" and value.dtype.kind == "f" and value.size:
            value = value.copy()
            value.flat[0] = np.nan
            return value
        by = {
            "half": value[: len(value) // 2],
            "permuted": value[::-1],
            "turned": value.T,
            "object": value.astype(object),
        }
        return by.get(how, value[None] if how == "deeper" else value)
    return np.nan if how == "NaN" else value


DAMAGES = ("gone|text|number|none|list|dictionary|negative|too large|half|permuted|turned|deeper|object|NaN").split("|")


def damage(adata: ad.AnnData, slot: str, path: tuple, how: str, rng: np.random.Generator) -> None:
    """Damage one stored entry of an AnnData in place; what AnnData itself does not take stays as it is."""
    holder = getattr(adata, slot)
    for key in path[:-1]:
        holder = holder[key]
    try:
        if how == "gone":
            del holder[path[-1]]
        else:
            holder[path[-1]] = damaged(holder[path[-1]], how, rng)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        pass
