"""Every public call of `tl`, `get` and `pl` on hostile AnnData, with hostile arguments, on damaged results.

It works, or says in its own words what is wrong, and then the AnnData is exactly what it was.
"""

from __future__ import annotations

import inspect
import warnings

import anndata as ad
import matplotlib.pyplot as plt
import numpy as np
import pytest
from anndata import ImplicitModificationWarning
from hypothesis import given
from hypothesis import strategies as st

from annotated import (
    CALLS,
    DAMAGES,
    FITS,
    ROOMS,
    annotated,
    arguments,
    assert_untouched,
    call,
    damage,
    function,
    paths,
    studied_cells,
    taken,
)
from strategies import ERRORS, answered, matrices, share_of_examples

# Where messages come from that name what is wrong as well: matplotlib's of colours and sizes, plotly's.
DRAWN_BY = ("matplotlib", "plotly")


# Pictures' own, of which a value that is taken shows, or writes a file: wrong ones alone are tried.
NOT_TRIED = ("adata", "show", "path", "save")


def test_every_public_call_has_its_properties():
    public = {
        f"{room}.{name}"
        for room, module in ROOMS.items()
        for name in module.__all__
        if inspect.isfunction(getattr(module, name))
    }
    assert set(CALLS) == public


def works_or_says_why(name, adata, names=(), errors=ERRORS, **given):
    """Whether a call worked; nothing else than what `tl` stores has changed."""
    before = taken(adata)
    elsewhere = DRAWN_BY if name.startswith("pl.") else ()
    answer = answered(
        call,
        name,
        adata,
        errors=errors,
        names=names,
        elsewhere=elsewhere,
        warned=[ImplicitModificationWarning],
        **given,
    )
    plt.close("all")
    if not answer.worked or not name.startswith("tl.") or given.get("copy") is True or name == "tl.select_path":
        assert_untouched(adata, before)
    return answer.worked


@pytest.mark.parametrize("name", CALLS)
@share_of_examples(0.1, least=2)
@given(data=st.data())
def test_any_arguments(name, data):
    takes = [one for one in inspect.signature(function(name)).parameters if one not in NOT_TRIED]
    chosen = data.draw(st.lists(st.sampled_from(takes), min_size=1, max_size=2, unique=True))
    wrong = {one: data.draw(arguments(), label=one) for one in chosen}
    works_or_says_why(name, studied_cells(name), names=[*chosen, *map(str, wrong.values())], **wrong)


@pytest.mark.parametrize("name", ["pl.graph_3d", "pl.report"])
@pytest.mark.parametrize("wrong", [1, 1.5, True, b"a", ["a"], "", "a\0b", "no such folder/page.html", "."])
def test_pages_are_written_to_files_alone(name, wrong):
    argument = "path" if name == "pl.report" else "save"
    errors = (*ERRORS, FileNotFoundError, IsADirectoryError)
    assert not works_or_says_why(name, studied_cells(name), names=[argument], errors=errors, **{argument: wrong})


@pytest.mark.parametrize("name", [name for name in CALLS if "show" in inspect.signature(function(name)).parameters])
@pytest.mark.parametrize("wrong", [1, "yes", [True], 0.0])
def test_whether_to_show_is_a_switch(name, wrong):
    assert not works_or_says_why(name, studied_cells(name), names=["show"], show=wrong)


@pytest.mark.parametrize("name", [name for name in CALLS if "ax" in inspect.signature(function(name)).parameters])
def test_pictures_are_drawn_on_axes_with_x_and_y(name):
    figure = plt.figure()
    flat, solid, polar = (
        figure.add_subplot(),
        figure.add_subplot(projection="3d"),
        figure.add_subplot(projection="polar"),
    )
    for wrong in (polar, figure, flat.xaxis, [flat], plt.Axes):
        assert not works_or_says_why(name, studied_cells(name), names=["ax="], ax=wrong)
    # those that draw three components, too, say for how many
    assert not works_or_says_why(name, studied_cells(name), names=["ax"], ax=solid)
    assert not flat.has_data()
    assert not solid.has_data()


@pytest.mark.parametrize("name", CALLS)
@share_of_examples(0.1, least=2)
@given(data=st.data())
def test_any_cells(name, data):
    works_or_says_why(name, data.draw(annotated(name)))


@pytest.mark.parametrize("name", FITS)
@share_of_examples(0.2, least=3)
@given(X=matrices(), into=st.sampled_from(["X", "layer", "obsm"]))
def test_any_matrix(name, X, into):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of anndata, of what it makes of a matrix
        adata = _holding(X, into)
    if adata is None:
        return
    chosen = {"X": dict(use_rep="X"), "layer": dict(layer="other"), "obsm": dict(use_rep="X_other")}[into]
    if name in ("tl.ddrtree", "tl.drtree", "tl.mpme", "tl.spl"):
        chosen["n_components"] = 1
    works_or_says_why(name, adata, **chosen)


def _holding(X, into):
    """An AnnData with a matrix in a place; None where AnnData does not take it."""
    try:
        adata = ad.AnnData(X) if into == "X" else ad.AnnData(np.ones((len(X), 2)))
        if into == "layer":
            adata.layers["other"] = X
        elif into == "obsm":
            adata.obsm["X_other"] = X
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, NotImplementedError):  # not AnnData's
        return None
    return adata


READERS = [name for name in CALLS if name not in FITS and name != "pl.report"]


@share_of_examples(2, least=3)
@given(data=st.data())
def test_any_damage(data):
    adata = studied_cells()
    slot = data.draw(st.sampled_from(["uns", "uns", "uns", "obs", "obsm", "varm", "var", "obsp"]))
    there = list(paths(dict(getattr(adata, slot))))
    path = data.draw(st.sampled_from(there))
    how = data.draw(st.sampled_from(DAMAGES))
    damage(adata, slot, path, how, np.random.default_rng(0))
    for name in data.draw(st.lists(st.sampled_from(READERS), min_size=1, max_size=4, unique=True)):
        works_or_says_why(name, adata.copy())
