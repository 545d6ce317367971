"""The dictionary of a fit: other versions, damaged entries, results of another tree."""

from __future__ import annotations

from importlib.metadata import version

import anndata as ad
import numpy as np
import pytest

from annotated import studied_cells
from skeltraj import get, tl
from skeltraj._keys import Entry
from skeltraj.get._reading.entries import FORMAT, check_fit, mark

OWN = version("skeltraj")


@pytest.fixture
def adata():
    return studied_cells()


def test_what_is_stored_is_taken_and_stays_so_in_files(adata, tmp_path):
    adata.write_h5ad(tmp_path / "a.h5ad")
    for those in (adata, ad.read_h5ad(tmp_path / "a.h5ad")):
        for key in ("ddrtree", "mpme", "drtree", "principal_graph"):
            check_fit(those.uns[key], key)
            get.ordered(those, key)
        get.composition(those, "stage")
        get.composition(those, "group")
        for read in (get.stability, get.survival, get.direction, get.association, get.branch_test, get.trends):
            read(those)


def test_a_fit_of_an_earlier_version_that_has_no_marks_is_read(adata):
    fit = adata.uns["ddrtree"]
    del fit["params"]["version"]
    for name in ("stability", "survival", "direction", "association", "trends"):
        del fit[name]["made_of"]
    get.stability(adata)
    get.association(adata)
    get.summary(adata)


def test_a_fit_in_a_later_format_is_refused(adata):
    adata.uns["ddrtree"]["params"] |= {"format": FORMAT + 1, "version": "9.1"}
    with pytest.raises(
        ValueError, match=rf"in format 2, and skeltraj {OWN} reads formats up to 1; .* later .*, as 9.1"
    ):
        get.graph(adata)
    adata.uns["ddrtree"]["params"]["format"] = FORMAT
    get.graph(adata)


def test_what_another_version_stored_otherwise_is_said(adata):
    adata.uns["ddrtree"]["params"]["version"] = "0.0.9"
    adata.uns["ddrtree"]["stability"]["consensus"]["place"] = np.zeros(2, dtype=int)
    words = rf"of shape \(2,\); wanted \(\d+,\).* of another version \(skeltraj 0.0.9; this is {OWN}\).*tl.stability"
    with pytest.raises(ValueError, match=words):
        get.stability(adata)


@pytest.mark.parametrize(
    ("entry", "value", "words"),
    [
        ("edge_length", lambda old: old[::-1], r"\['edge_length'\] is not the distance between the nodes of \d+ of"),
        ("edges", lambda old: old[::-1], r"\['edge_length'\] is not the distance"),
        ("nodes", lambda old: old[::-1], r"\['edge_length'\] is not the distance"),
        ("objective", lambda old: "low", r"\['objective'\] is a str of shape \(\)"),
        ("params", lambda old: None, r"\['params'\] is a NoneType; wanted a dictionary"),
        ("pruned", lambda old: old | {"place": old["place"] - 5}, r"\['place'\] holds -\d; wanted at least -1"),
    ],
)
def test_a_damaged_fit_is_not_read(adata, entry, value, words):
    adata.uns["ddrtree"][entry] = value(adata.uns["ddrtree"][entry])
    for read in (get.stored, get.graph, get.ordered, get.summary, tl.order, tl.prune):
        with pytest.raises(ValueError, match=rf"{words}.* fit again"):
            read(adata)


def test_a_tree_whose_edges_close_a_loop_is_not_read(adata):
    fit = adata.uns["ddrtree"]
    ends = get.graph(adata).tips[:2]
    fit["edges"] = np.vstack([fit["edges"], ends])
    fit["edge_length"] = np.r_[fit["edge_length"], np.linalg.norm(np.subtract(*fit["nodes"][ends]))]
    with pytest.raises(ValueError, match=r"of method 'ddrtree', which learns trees, and its edges close 1 loop"):
        get.graph(adata)


def test_results_of_another_tree_or_root_are_told(adata):
    fit = adata.uns["ddrtree"]
    before = {
        name: fit[name] for name in ("composition", "stability", "association", "survival", "direction", "trends")
    }
    table = adata.varm["ddrtree_association"]
    curves = {name: adata.varm[name] for name in ("ddrtree_trends", "ddrtree_trends_se")}
    tl.order(adata, next(int(tip) for tip in get.graph(adata).tips if tip != fit["order"]["root"]))
    adata.uns["ddrtree"] |= before  # as anndata.concat(uns_merge="first") does
    adata.varm["ddrtree_association"] = table
    for name, values in curves.items():
        adata.varm[name] = values
    reads = {
        get.composition: "composition",
        get.stability: "stability",
        get.association: "association",
        get.survival: "survival",
        get.trends: "trends",
    }
    for read, name in reads.items():
        given = ("stage",) if name == "composition" else ()
        with pytest.raises(
            ValueError, match=rf"'{name}'\].* was made of another tree, or from another root.*tl\.{name}"
        ):
            read(adata, *given)
    get.direction(adata)  # which asks for no root
    tl.composition(adata, "stage", n_permutations=5)
    get.composition(adata, "stage")
    with pytest.raises(ValueError, match=r"\['group'\] was made of another tree"):
        get.composition(adata, "group")


def test_the_mark_is_that_of_tree_and_root(adata):
    fit = adata.uns["ddrtree"]
    own = mark(fit, Entry.STABILITY)
    single = fit | {"nodes": fit["nodes"].astype(np.float32), "edges": fit["edges"].astype(np.int32)}
    assert mark(single, Entry.STABILITY) == own
    moved = fit["nodes"].copy()
    moved[0, 0] += 1e-3
    assert mark(fit | {"nodes": moved}, Entry.STABILITY) != own
    other = fit["order"] | {"root": fit["order"]["root"] ^ 1}
    assert mark(fit | {"order": other}, Entry.STABILITY) != own
    assert mark(fit | {"order": other}, Entry.DIRECTION) == mark(fit, Entry.DIRECTION)
    assert mark(fit | {"nodes": fit["nodes"] * 1e100}, Entry.STABILITY) != own  # and is a number, all the same
