"""What is stored of a fit and its order is checked when it is read."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pytest

import skeltraj as st
from samples import by_hand, cells
from skeltraj import core
from skeltraj.get._reading.positions import positions
from stored import same

READERS = {
    "get.groups": lambda adata: st.get.groups(adata, "stage"),
    "tl.composition": lambda adata: st.tl.composition(adata, "stage", n_permutations=9),
    "tl.select_path": lambda adata: st.tl.select_path(adata, "T1", "T2"),
    "pl.dendrogram": lambda adata: st.pl.dendrogram(adata),
    "pl.progression": lambda adata: st.pl.progression(adata, "stage"),
}


@pytest.fixture(scope="module")
def ordered():
    adata = cells(150)
    st.tl.ddrtree(adata)
    st.tl.order(adata, root={"stage": "stem"})
    return adata


@pytest.mark.parametrize("reader", READERS)
def test_cells_without_a_place_are_named_after_an_outer_join(ordered, reader):
    others = cells(40, seed=1)
    others.obs_names = [f"other{i}" for i in range(40)]
    both = ad.concat([ordered, others], join="outer", uns_merge="first")
    both.obs["stage"] = both.obs["stage"].astype("category")
    before = both.copy()
    with pytest.raises(
        ValueError,
        match=r"40 of 190 cells, such as 'other0', have no (place on|finite coord).*tl\.ingest",
    ):
        READERS[reader](both)
    same(both, before)


def spoiled(adata, change):
    copy = adata.copy()
    copy.uns["ddrtree"] = dict(copy.uns["ddrtree"]) | {"order": dict(copy.uns["ddrtree"]["order"])}
    change(copy)
    return copy


def set_order(**entries):
    return lambda adata: adata.uns["ddrtree"]["order"].update(entries)


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        (
            lambda a: a.uns["ddrtree"].pop("edges"),
            KeyError,
            "has nodes and no 'edges': it is no whole fit. Fit it again",
        ),
        (
            lambda a: a.uns["ddrtree"].update(edges=np.array([[0, 9999]])),
            ValueError,
            "holds 9999; wanted numbers of the .* fit again",
        ),
        (
            lambda a: a.uns["ddrtree"].update(nodes=a.uns["ddrtree"]["nodes"] * np.nan),
            ValueError,
            r"adata.uns\['ddrtree'\]\['nodes'\] holds \d+ value.s. that are NaN",
        ),
        (set_order(root=9999), ValueError, r"\['root'\] holds 9999; wanted numbers of the \d+ nodes, .*tl.order"),
        (lambda a: a.uns["ddrtree"]["order"].pop("root"), ValueError, r"\['order'\] has no 'root'\. .*tl.order"),
        (set_order(node_pseudotime=np.zeros(3)), ValueError, r"is of shape \(3,\); wanted \(\d+,\)\. .*tl.order"),
        (lambda a: a.obsm.pop("ddrtree_position"), KeyError, "adata.obsm has no 'ddrtree_position', which .*tl.order"),
        (
            lambda a: a.obsm.update(ddrtree_position=a.obsm["ddrtree_position"].to_numpy()),
            ValueError,
            r"is no table with columns \['edge', 'fraction', 'distance'\]",
        ),
        (
            lambda a: a.obsm["ddrtree_position"].__setitem__("fraction", 2.0),
            ValueError,
            "150 of 150 cells, such as 'cell0', have no place",
        ),
    ],
)
@pytest.mark.parametrize("reader", ["get.groups", "tl.composition", "tl.select_path", "pl.dendrogram"])
def test_what_was_changed_since_is_told(ordered, reader, change, kind, message):
    adata = spoiled(ordered, change)
    with pytest.raises(kind, match=message):
        READERS[reader](adata)


@pytest.mark.parametrize("width", [-1, 1])
def test_coordinates_with_another_number_of_columns(ordered, width):
    adata = ordered.copy()
    Z = adata.obsm["X_ddrtree"]
    adata.obsm["X_ddrtree"] = Z[:, :-1] if width < 0 else np.column_stack([Z, Z[:, 0]])
    before = adata.copy()
    message = (
        rf"obsm\['X_ddrtree'\] is of shape \(150, {Z.shape[1] + width}\), .* {Z.shape[1]} coordinates; .*fit again"
    )
    with pytest.raises(ValueError, match=message):
        st.tl.order(adata, root=0)
    same(adata, before)


def test_cells_at_a_node_without_edges_are_read_as_they_were_placed():
    nodes = [*([i, 0] for i in range(21)), [10, 5]]
    along = np.r_[np.linspace(0, 6, 200), np.linspace(14, 20, 200), np.full(400, 10.0)]
    points = np.column_stack([along, np.repeat([0.0, 5.0], 400)])
    adata = by_hand(nodes, [[i, i + 1] for i in range(20)], points)
    with (
        pytest.warns(UserWarning, match="components without the root"),
        pytest.warns(UserWarning, match="No cell lies on a stretch of B1"),
    ):
        st.tl.order(adata, root=0)
    graph = st.get.graph(adata)
    read, placed = positions(adata, graph, "ddrtree"), core.locate(graph, points)
    for name in ("edge", "fraction", "distance", "alone"):
        np.testing.assert_array_equal(getattr(read, name), getattr(placed, name))
    # so that the stretch over which they lie is empty to all that read it
    assert any("No cell lies on a stretch of B1" in doubt for doubt in st.get.summary(adata).doubts)
