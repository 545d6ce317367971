"""What functions return prints short, and without raw arrays."""

from __future__ import annotations

import dataclasses
import types
import typing

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from samples import cells
from skeltraj import core, get, tl
from skeltraj._printing import Printed, described, in_full, ratios_as_text, several, told_apart

PUBLIC = {
    name: getattr(room, name) for room in (core, get) for name in room.__all__ if isinstance(getattr(room, name), type)
}
OF_THEIR_OWN = {  # one line each, or (survival) tables of its own, or (LearnedTree) more than its fields
    "DDRTreeFit", "DRTreeFit", "Graph", "LearnedTree", "Mesh", "PlacedSkeleton", "PrincipalFit", "SimilarityFit",
    "Skeleton", "Summary", "SurvivalTables", "TreeBasis",
}  # fmt: skip


def assert_short(result, *, lines=26, width=100):
    """Few lines, none long, and nothing that only a computer reads."""
    said = repr(result)
    assert 1 <= len(said.splitlines()) <= lines, said
    assert max(map(len, said.splitlines())) <= width, said
    for raw in ("array(", "[[", "dtype=", "np.float64", " object at 0x", "<class", "<function", "[0. 1."):
        assert raw not in said, said


def filled(kind, deep=0):
    """A value of an annotated type, large and full of what prints long."""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return filled(inside[0], deep)
    if origin is typing.Literal:
        return inside[0]
    if origin is dict:
        return {f"a name that is rather long {i}": filled(inside[1], deep) for i in range(40)}
    if origin in (list, tuple) or str(origin).endswith("Sequence'>"):
        return (list if origin is list else tuple)(filled(inside[0], deep) for _ in range(40)) if inside else []
    simple = {
        np.ndarray: np.linspace(0, 1, 14_000).reshape(2000, 7), int: 123_456, float: np.float64(1 / 3), bool: np.True_,
        str: "a long name " * 30, pd.DataFrame: pd.DataFrame(np.eye(50), columns=[f"column {i}" for i in range(50)]),
        sparse.csr_matrix: sparse.eye(400, format="csr"), core.Graph: core.Graph(np.eye(3), np.array([[0, 1], [1, 2]])),
        pd.Series: pd.Series(np.arange(500.0)), np.random.Generator: np.random.default_rng(0),
    }  # fmt: skip
    if kind in simple:
        return simple[kind]
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and deep < 4:
        return empty_of(kind, deep + 1)
    return np.sum if "Callable" in str(kind) else "something else"


def empty_of(kind, deep=0):
    """An instance of a result's class, whose fields are filled by their annotations alone."""
    hints = typing.get_type_hints(kind)
    if not dataclasses.is_dataclass(kind):
        return kind(*(filled(hints[name]) for name in kind._fields))
    result = object.__new__(kind)
    for field in dataclasses.fields(kind):
        object.__setattr__(result, field.name, filled(hints[field.name], deep))
    return result


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - OF_THEIR_OWN))
def test_every_public_result_prints_as_its_fields(name):
    kind = PUBLIC[name]
    assert issubclass(kind, Printed) or repr(empty_of(kind)) == described(empty_of(kind))
    result = empty_of(kind)
    assert_short(result)
    names = [f.name for f in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else kind._fields
    assert all(field in repr(result) for field in names)
    html = result._repr_html_()
    has_tables = any(isinstance(getattr(result, field), pd.DataFrame) for field in names)
    assert (html is not None) == has_tables
    if has_tables:
        assert html.count("<p><b>") == sum(isinstance(getattr(result, field), pd.DataFrame) for field in names)
        assert "array(" not in html


def test_results_that_print_in_their_own_way():
    adata = cells(90)
    tl.ddrtree(adata)
    adata.obsm["X_umap"] = adata.X[:, :2]
    graph = get.graph(adata)
    position = core.locate(graph, adata.obsm["X_ddrtree"])
    results = {
        "DDRTreeFit": core.ddrtree(adata.X),
        "DRTreeFit": core.drtree(adata.X),
        "Graph": graph,
        "Mesh": core.Mesh(graph.nodes, graph.edges),
        "PlacedSkeleton": get.skeleton_on_basis(adata, "umap"),
        "PrincipalFit": core.principal_tree(adata.X),
        "SimilarityFit": core.spl(adata.X),
        "TreeBasis": core.tree_basis(graph, position),
    }
    for name, result in results.items():
        assert type(result).__name__ == name
        assert_short(result, lines=1, width=120)
    # the base class; see below, test_summary, test_survival
    assert set(results) | {"LearnedTree", "Skeleton", "Summary", "SurvivalTables"} == OF_THEIR_OWN


def test_a_learned_tree_prints_its_fields_and_what_speaks_against_it():
    clear = core.learn_tree(cells(90).X)
    doubtful = core.learn_tree(np.random.default_rng(0).normal(size=(300, 6)))
    for learned in (clear, doubtful):
        assert_short(learned)
        assert learned._repr_html_() is None
        assert repr(learned).startswith(described(learned))
        assert all(f"\n  {field.name} " in repr(learned) for field in dataclasses.fields(learned))
    assert repr(clear) == described(clear)
    assert clear.doubt is None
    assert " ".join(repr(doubtful).split()).endswith(f"in doubt {doubtful.doubt}")


def test_what_stability_found():
    adata = cells(90)
    tl.ddrtree(adata)
    tl.order(adata, 0)
    tl.stability(adata, n_replicates=2)
    tables = get.stability(adata)
    assert_short(tables)
    lines = repr(tables).splitlines()
    assert lines[0] == "StabilityTables"
    n_branches, n_nodes = len(tables.branches), len(tables.place)
    said = "1 row" if n_branches == 1 else f"{n_branches} rows"
    assert lines[1] == f"  branches      table, {said}: {', '.join(tables.branches.columns)}"
    assert lines[5].startswith(f"  place         {n_nodes} int64, ")
    assert lines[6] == "  n_replicates  2"
    html = tables._repr_html_()
    assert all(f"<b>{name}</b>" in html for name in ("StabilityTables", "branches", "forks", "edges"))


def test_words_of_values():
    said = described(core.ChiSquare(chi2=12.3456789, df=2, p_value=np.float64(0.00209999999)))
    assert said == "ChiSquare: chi2 12.3457, df 2, p_value 0.0021"
    bins = core.LineageBins(
        np.array([0.0, 0.5, 1.0]), np.arange(20).reshape(2, 10), np.r_[np.arange(19) / 19, np.nan].reshape(2, 10)
    )
    assert repr(bins).splitlines() == [
        "LineageBins",
        "  bounds  [0, 0.5, 1]",
        "  counts  2 x 10 int64, 0 to 19",
        "  shares  2 x 10 float64, 0 to 0.947368, 1 not finite",
    ]
    position = core.Position(np.zeros(1000, int), np.ones(1000), np.empty(0))
    assert repr(position).splitlines()[1:] == [
        "  edge      1,000 int64, 0 to 0",
        "  fraction  1,000 float64, 1 to 1",
        "  distance  0 float64",
        "  alone     None",
    ]
    assert "function" not in repr(core.METHODS["ddrtree"])
    assert "  fit                ddrtree\n" in repr(core.METHODS["ddrtree"])


@pytest.mark.parametrize(
    ("ratios", "texts"),
    [
        ((0.425, 0.326, 0.554), ["0.425", "0.326", "0.554"]),
        ((1.000031, 1.000011, 1.0000521), ["1.000031", "1.000011", "1.000052"]),
        ((1.04, 0.98, 1.0923), ["1.040", "0.980", "1.092"]),
        ((1.0, 1.0, 1.0), ["1", "1", "1"]),
        ((1.0, 0.0, np.inf), ["1", "0", "inf"]),
        ((1 + 1e-12, 1 - 1e-12, 1.0), ["1.0000000", "1.0000000", "1.0000000"]),
    ],
)
def test_ratios_near_1_show_how_they_differ_from_it(ratios, texts):
    assert ratios_as_text(*ratios) == texts


@pytest.mark.parametrize(
    ("numbers", "form", "texts"),
    [
        ((0.746, 0.75), ".2f", ("0.746", "0.750")),
        ((0.46, 0.75), ".2f", ("0.46", "0.75")),
        ((0.75, 0.75), ".2f", ("0.75", "0.75")),
        ((0.00700004, 0.00700001), ".3g", ("0.00700004", "0.00700001")),
        ((49.5, 50.0), ".0f", ("49.5", "50.0")),
        ((1.04e-3, 1e-3), ".1e", ("1.04e-03", "1.00e-03")),
        ((np.nan, 0.75), ".2f", ("nan", "0.75")),
        ((np.inf, 1.0), ".3g", ("inf", "1")),
        ((np.nextafter(1, 2), 1.0), ".0f", ("1.0000000000000002", "1.0000000000000000")),
        ((np.nextafter(1e-30, 1), 1e-30), ".0f", ("1.0000000000000003e-30", "1e-30")),
    ],
)
def test_numbers_side_by_side_show_which_is_larger(numbers, form, texts):
    assert told_apart(*numbers, form) == texts


def test_numbers_in_full():
    assert [in_full(x) for x in (7.0, 1e6, 0.1, 2922.8131, np.inf)] == ["7", "1e+06", "0.1", "2922.8131", "inf"]
    assert in_full(np.float64(1234567.8)) == "1234567.8"


def test_counts_with_their_noun():
    assert [several(n, "branch", "branches") for n in (1, 2000)] == ["1 branch", "2,000 branches"]
    assert [several(n, "tip") for n in (0, 1, 2)] == ["0 tips", "1 tip", "2 tips"]
