"""The adjacency of the nodes as a matrix."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from anndata import AnnData
from matplotlib import pyplot as plt
from scipy import sparse

from skeltraj import get, pl, tl
from skeltraj.pl._drawing.matrix import node_places
from skeltraj.pl._drawing.values import values_of


def dots(ax):
    """The matrix that the dots draw, rows down; none drawn twice."""
    [drawn] = ax.collections
    at = np.asarray(drawn.get_offsets()).astype(int)
    n = round(ax.get_xlim()[1] + 0.5)
    assert ax.get_xlim() == (-0.5, n - 0.5)
    assert ax.get_ylim() == (n - 0.5, -0.5)
    matrix = np.zeros((n, n), dtype=int)
    np.add.at(matrix, (at[:, 1], at[:, 0]), 1)
    return matrix


def test_squares_are_as_large_as_the_axes_ask_for(adata):
    similar = adata[:40].copy()
    tl.mpme(similar)
    for draw in (lambda ax: pl.adjacency(adata, ax=ax), lambda ax: pl.similarity(similar, ax=ax)):
        sides = []
        for width in (3.0, 9.0):
            figure = plt.figure(figsize=(width, width))
            ax = draw(figure.add_axes((0, 0, 1, 1)))
            entry = 72 * width / (ax.get_xlim()[1] + 0.5)
            sides.append(np.sqrt(ax.collections[0].get_sizes()[0]) / entry)
        np.testing.assert_allclose(sides, 66 / 72)


def adjacency(tree, place):
    """The tree's adjacency with the nodes at their places."""
    matrix = np.zeros((tree.n_nodes, tree.n_nodes), dtype=int)
    for a, b in place[tree.edges]:
        matrix[a, b] = matrix[b, a] = 1
    return matrix


def main_group(adata, column):
    """The category with the largest sum of assignment to each node, by hand."""
    weights = adata.obsm["ddrtree_assignment"].toarray()
    table = np.array(
        [weights[(adata.obs[column] == c).to_numpy()].sum(axis=0) for c in adata.obs[column].cat.categories]
    )
    return table.argmax(axis=0)


def test_nodes_as_stored(adata):
    tree = get.graph(adata)
    _, given = plt.subplots()
    ax = pl.adjacency(adata, ax=given)
    assert ax is given
    np.testing.assert_array_equal(dots(ax), adjacency(tree, np.arange(30)))
    assert not ax.lines
    assert ax.get_xlabel() == ax.get_ylabel() == "nodes"


@pytest.mark.parametrize("unknown", [False, True])
def test_groups_are_blocks_in_the_order_of_their_categories(adata, unknown):
    adata.obs["stage"] = adata.obs["stage"].cat.set_categories(["stem", "none", "right", "left"])
    if unknown:
        adata.obs.loc[adata.obs_names[::3], "stage"] = np.nan
    tree, group = get.graph(adata), main_group(adata, "stage")
    place, bounds, codes = node_places(tree, adata.obsm["ddrtree_assignment"], values_of(adata, "stage"))
    np.testing.assert_array_equal(np.sort(place), np.arange(30))
    in_order = group[np.argsort(place)]
    assert (np.diff(in_order) >= 0).all()
    np.testing.assert_array_equal(codes, [0, 2, 3])
    np.testing.assert_array_equal(bounds, np.searchsorted(in_order, [0, 2, 3, 4]))

    ax = pl.adjacency(adata, groupby="stage")
    np.testing.assert_array_equal(dots(ax), adjacency(tree, place))
    assert dots(ax).sum() == 58
    assert [text.get_text() for text in ax.get_yticklabels()] == ["stem", "right", "left"]
    first, last = bounds[:-1], bounds[1:] - 1
    np.testing.assert_allclose(ax.get_yticks(), (first + last) / 2)
    across, up = ([line.get_xydata()[0] for line in ax.lines[i::2]] for i in (0, 1))
    np.testing.assert_allclose([at[1] for at in across], bounds[1:-1] - 0.5)
    np.testing.assert_allclose([at[0] for at in up], bounds[1:-1] - 0.5)
    assert ax.get_xlabel() == "nodes by stage"


def test_numbers_sort_the_nodes_by_the_mean_of_their_cells(adata):
    number = adata.obs["number"].to_numpy(copy=True)
    number[:20] = np.nan
    adata.obs["number"] = number
    weights = adata.obsm["ddrtree_assignment"].toarray()
    weights[:, 7] = 0  # a node without cells
    weights[20:, 9] = 0  # and one whose cells have no number
    weights /= weights.sum(axis=1, keepdims=True)
    adata.obsm["ddrtree_assignment"] = sparse.csr_matrix(weights)
    mean = [np.average(number[20:], weights=w[20:]) if w[20:].any() else np.inf for w in weights.T]
    place = np.argsort(np.argsort(mean, kind="stable"))
    tree = get.graph(adata)
    ax = pl.adjacency(adata, groupby="number")
    np.testing.assert_array_equal(dots(ax), adjacency(tree, place))
    assert (place[7], place[9]) == (28, 29)
    assert not ax.lines
    assert ax.get_xlabel() == "nodes by number"


def test_inside_a_group_nodes_follow_the_tree():
    name = np.random.default_rng(0).permutation(12)
    adata = AnnData(
        obs=pd.DataFrame({"all": pd.Categorical(["one"] * 12)}, index=[str(i) for i in range(12)]),
        obsm={"X_ddrtree": np.zeros((12, 1)), "ddrtree_assignment": sparse.identity(12, format="csr")},
        uns={
            "ddrtree": {
                "nodes": np.arange(12.0)[np.argsort(name)][:, None],
                "edges": np.column_stack([name[1:], name[:-1]]),
            }
        },
    )
    band = np.eye(12, k=1, dtype=int) + np.eye(12, k=-1, dtype=int)
    np.testing.assert_array_equal(dots(pl.adjacency(adata, groupby="all")), band)
    assert (dots(pl.adjacency(adata)) != band).any()


def test_errors_name_the_argument(adata):
    with pytest.raises(KeyError, match=r"groupby='grade' is neither a column of adata\.obs nor a gene"):
        pl.adjacency(adata, groupby="grade")
    for draw in (pl.adjacency, pl.objective):
        with pytest.raises(KeyError, match=r"no skeleton is stored as adata\.uns\['tree'\]\. Available: \['ddrtree'\]"):
            draw(adata, "tree")
    assert not plt.get_fignums()
