"""Learned similarities: as a matrix, and beneath the cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection, PathCollection
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from samples import cells
from skeltraj import get, pl, tl


@pytest.fixture(scope="module")
def _learned():
    adata = cells(60)
    tl.mpme(adata, 3)
    tl.order(adata, 0, key="mpme")
    return adata


@pytest.fixture
def learned(_learned):
    return _learned.copy()


def drawn(ax):
    """The matrix that the squares show."""
    [squares] = ax.collections
    n = round(ax.get_xlim()[1] + 0.5)
    matrix = np.zeros((n, n))
    at = np.asarray(squares.get_offsets()).astype(int)
    matrix[at[:, 1], at[:, 0]] = squares.get_array()
    return matrix


def test_as_stored(learned):
    _, given = plt.subplots()
    ax = pl.similarity(learned, ax=given)
    assert ax is given
    np.testing.assert_array_equal(drawn(ax), learned.obsp["mpme_similarity"].toarray())
    assert ax.get_xlabel() == ax.get_ylabel() == "cells"


def test_by_group(learned):
    ax = pl.similarity(learned, groupby="stage")
    S, stage = learned.obsp["mpme_similarity"].toarray(), learned.obs["stage"]
    matrix, at = drawn(ax), 0
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == list(stage.cat.categories)
    for name in names:
        own = (stage == name).to_numpy()
        m = own.sum()
        block, wanted = matrix[at : at + m, at : at + m], S[np.ix_(own, own)]
        np.testing.assert_allclose(np.sort(block.ravel()), np.sort(wanted.ravel()))
        at += m
    assert ax.get_xlabel() == "cells by stage"


def test_by_number(learned):
    ax = pl.similarity(learned, groupby="mpme_pseudotime")
    order = np.argsort(learned.obs["mpme_pseudotime"].to_numpy(), kind="stable")
    np.testing.assert_array_equal(drawn(ax), learned.obsp["mpme_similarity"].toarray()[np.ix_(order, order)])


def test_errors(learned):
    tl.drtree(learned)
    with pytest.raises(KeyError, match=r"adata.obsp has no 'drtree_similarity'.*Available: \['mpme_similarity'\]"):
        pl.similarity(learned, "drtree")
    with pytest.raises(KeyError, match="no skeleton is stored"):
        pl.similarity(learned, "spl")
    with pytest.raises(KeyError, match="nothing"):
        pl.similarity(learned, groupby="nothing")
    learned.obs["empty"] = pd.Categorical([None] * 60, categories=["a"])
    with pytest.raises(ValueError, match=r"adata.obs\['empty'\] is missing for all 60 cells"):
        pl.similarity(learned, groupby="empty")
    learned.obsp["mpme_similarity"] = 0 * learned.obsp["mpme_similarity"]
    learned.obsp["mpme_similarity"].eliminate_zeros()
    with pytest.raises(ValueError, match="no two cells are similar"):
        pl.similarity(learned)


def test_similar_cells_are_joined_beneath_them(learned):
    ax = pl.graph(learned, "mpme", color="stage")
    [lines] = [c for c in ax.collections if isinstance(c, LineCollection)]
    graph = get.graph(learned, "mpme")
    np.testing.assert_allclose(np.array(lines.get_segments()), graph.nodes[graph.edges][:, :, :2])
    opacity, weights = lines.get_colors()[:, 3], learned.uns["mpme"]["weights"]
    np.testing.assert_array_equal(np.argsort(opacity, kind="stable"), np.argsort(weights, kind="stable"))
    assert lines.get_zorder() < min(c.get_zorder() for c in ax.collections if isinstance(c, PathCollection))
    assert not [text for text in ax.texts if text.get_text().strip().startswith(("T", "F"))]
    assert ax.get_xlabel() == "MPME 1"
    three = pl.graph(learned, "mpme", components=(0, 1, 2))
    assert len([c for c in three.collections if isinstance(c, Line3DCollection)]) == 1


def test_the_objective_rises(learned):
    ax = pl.objective(learned, "mpme", log=True)
    values = learned.uns["mpme"]["objective"]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), values[-1] - values[:-1])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("step", "objective below its last value")


def names_and_bounds(ax):
    """Names of the blocks, and where they begin and end."""
    n = round(ax.get_ylim()[0] + 0.5)
    across = [line.get_ydata()[0] + 0.5 for line in ax.lines[::2]]
    return [label.get_text() for label in ax.get_yticklabels()], [0, *across, n]


def test_cells_without_a_group_are_last(learned):
    stage = learned.obs["stage"].astype(object)
    stage[::3] = None
    learned.obs["some"] = pd.Categorical(stage)
    names, bounds = names_and_bounds(pl.similarity(learned, groupby="some"))
    counts = learned.obs["some"].value_counts(sort=False)
    assert names == [*counts.index, "missing"]
    assert np.diff(bounds).tolist() == [*counts, 20]
    names, bounds = names_and_bounds(pl.adjacency(learned, "mpme", groupby="some"))  # a node for each cell
    assert names == [*counts.index, "missing"]
    assert np.diff(bounds).tolist() == [*counts, 20]
    number = learned.obs["mpme_pseudotime"].to_numpy(copy=True)
    number[[3, 40]], number[7] = np.nan, -np.inf
    learned.obs["number"] = number
    S = learned.obsp["mpme_similarity"].toarray()
    order = [*np.argsort(number, kind="stable")]
    assert (order[0], order[-2:]) == (7, [3, 40])
    np.testing.assert_array_equal(drawn(pl.similarity(learned, groupby="number")), S[np.ix_(order, order)])


def test_of_some_of_the_cells_only_these_are_drawn(learned):
    some = learned[15:45].copy()
    S = some.obsp["mpme_similarity"].toarray()
    np.testing.assert_array_equal(drawn(pl.similarity(some)), S)
    names, bounds = names_and_bounds(pl.similarity(some, groupby="stage"))
    counts = some.obs["stage"].value_counts(sort=False)
    assert (names, np.diff(bounds).tolist()) == ([*counts.index[counts > 0]], [*counts[counts > 0]])


def test_similarities_that_were_changed(learned):
    S = learned.obsp["mpme_similarity"].copy()
    S.data[:5] = 0.0
    learned.obsp["mpme_similarity"] = S
    np.testing.assert_array_equal(drawn(pl.similarity(learned)), S.toarray())
    learned.obsp["mpme_similarity"] = S.toarray()
    np.testing.assert_array_equal(drawn(pl.similarity(learned)), S.toarray())
    for value in (-1.0, np.nan, np.inf):
        S.data[7] = value
        learned.obsp["mpme_similarity"] = S
        with pytest.raises(ValueError, match="holds entries that are not positive, or not finite"):
            pl.similarity(learned)
