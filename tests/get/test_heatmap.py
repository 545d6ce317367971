"""Curves as a matrix: its values, its columns along the tree, a lineage and from a fork, its rows and their order."""

from __future__ import annotations

import numpy as np
import pytest

from genes_on_trees import FORK, cells_with_genes, comb
from skeltraj import get, tl
from skeltraj.core._curves.shapes import heights

pytestmark = pytest.mark.filterwarnings("ignore:.*1 of .* genes have the same value")


@pytest.fixture(scope="module")
def adata():
    adata = cells_with_genes(n_more=6)
    tl.association(adata, size_factors="factor")
    tl.branch_test(adata, size_factors="factor")
    tl.trends(adata, size_factors="factor")
    tl.cluster_trends(adata, 3)
    return adata


@pytest.fixture(scope="module")
def many():
    adata = cells_with_genes(comb(5), n=700)
    tl.trends(adata)
    return adata


def test_rows_are_standardised_curves_between_places(adata):
    tables = get.heatmap(adata, ["rise", "own"], lineage="T2", sort=None, n_columns=37)
    assert tables.matrix.shape == (2, 37)
    np.testing.assert_allclose(tables.matrix.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(tables.matrix.std(axis=1, ddof=0), 1)
    places = adata.uns["ddrtree"]["trends"]["places"]
    on = places[places["T2"]].sort_values("pseudotime", kind="stable")
    reach = on["pseudotime"].max()
    time = (np.arange(37) + 0.5) / 37 * reach
    np.testing.assert_allclose(tables.columns["pseudotime"], time)
    curve = adata.varm["ddrtree_trends"][[0, 2]].astype(float)
    height = heights(curve, places["support"].to_numpy(), "negative_binomial")[:, on.index.astype(int)]
    for row, own in zip(tables.matrix.to_numpy(), height, strict=True):
        wanted = np.interp(time, on["pseudotime"], own)
        np.testing.assert_allclose(row, (wanted - wanted.mean()) / wanted.std(), atol=1e-9)
    assert list(tables.columns["branch"].cat.categories) == ["B1", "B2"]
    assert (tables.columns["branch"][time < 1.9] == "B1").all()
    assert (tables.columns["branch"][time > 2.1] == "B2").all()


@pytest.mark.parametrize("root", [0, 3])
def test_columns_name_the_branches_of_their_path_one_after_another(root):
    """Whatever the numbers of the branches are that meet at a fork."""
    many = cells_with_genes(comb(5), n=700, root=comb(5)[1][-1][-1] if root else 0)
    tl.trends(many)
    order = get.ordered(many)
    tree, root = get.graph(many), int(order["root"])
    for name, tip in zip(tree.tip_names, tree.tips.tolist(), strict=True):
        if tip == root:
            continue
        edges = tree.edges_along(tree.path(root, tip))
        wanted = list(dict.fromkeys(tree.branch_names[b] for b in tree.branch_of_edge[edges].tolist()))
        branch = get.heatmap(many, lineage=name, n_columns=200).columns["branch"].astype(str)
        assert branch[branch != branch.shift()].tolist() == wanted


def test_branches_without_length_have_no_columns():
    """The root is one end of an edge between two nodes at one place."""
    nodes, edges = [[0.0, 0], [1, 0], [1, 0], [2, 1], [2, -1]], [[0, 1], [1, 2], [2, 3], [2, 4]]
    adata = cells_with_genes((nodes, edges), root=1)
    tl.trends(adata)
    columns = get.heatmap(adata, ["own"]).columns
    assert columns["n_cells"].sum() == adata.n_obs
    assert columns["stretch"].nunique() == 3


def test_columns_count_their_cells_and_name_most_of_them(adata):
    tables = get.heatmap(adata, "rise", groupby="stage")
    columns = tables.columns
    assert columns["n_cells"].sum() == adata.n_obs
    assert list(columns["stage"].cat.categories) == ["early", "middle", "late"]
    branch, time = adata.obs["ddrtree_branch"], adata.obs["ddrtree_pseudotime"]
    for name, part in columns.groupby("branch", observed=True):
        assert part["n_cells"].sum() == (branch == name).sum()
        half = np.diff(part["pseudotime"]).mean() / 2
        for _, column in part.iterrows():
            inside = (branch == name) & ((time - column["pseudotime"]).abs() <= half + 1e-9)
            assert column["n_cells"] == inside.sum()
            of = adata.obs["stage"][inside].value_counts()
            if inside.any():
                assert of[column["stage"]] == of.max()
            else:
                assert column["stage"] != column["stage"]  # missing


def test_the_whole_tree_runs_outwards_from_the_root(many):
    columns = get.heatmap(many, ["rise"]).columns
    order = many.uns["ddrtree"]["order"]
    assert set(columns["stretch"]) == {f"B{i}" for i in range(1, 8)}
    start = columns.groupby("stretch", observed=True)["pseudotime"].agg(["first", "last"])
    assert (start["first"] < start["last"]).all()
    # each stretch begins where one before it ended, or at the root
    ends = order["branches"].loc[list(dict.fromkeys(columns["stretch"]))]
    met = {"T1"}
    for _, row in ends.iterrows():
        assert {row["start"], row["end"]} & met
        met |= {row["start"], row["end"]}
    lengths = columns["stretch"].value_counts() / len(columns)
    share = order["branches"]["length"] / order["branches"]["length"].sum()
    np.testing.assert_allclose(lengths[share.index], share, atol=0.01)


def test_a_root_within_a_branch_parts_it():
    nodes, edges = [[0, 0], [1, 0], [2, 0], [3.5, 1.2], [3.5, -1.5]], [[0, 1], [1, 2], [2, 3], [2, 4]]
    adata = cells_with_genes((nodes, edges), root=1)
    tl.trends(adata)
    columns = get.heatmap(adata, ["own"]).columns
    begin = np.flatnonzero(np.r_[True, columns["pseudotime"].diff()[1:] < 0])  # B3 goes on from where B1 ended
    assert [columns["branch"].iloc[i] for i in begin] == ["B1", "B1", "B3"]
    assert list(dict.fromkeys(columns["branch"])) == ["B1", "B2", "B3"]
    assert columns["n_cells"].sum() == adata.n_obs
    back = get.heatmap(adata, ["own"], lineage="T1").columns
    assert back["pseudotime"].max() == pytest.approx(1, abs=0.01)
    assert back["n_cells"].sum() == (adata.obsm["ddrtree_position"]["edge"] == 0).sum()


def test_from_a_fork_both_ways(adata):
    whole = get.heatmap(adata, ["own", "rise"], fork="F1").columns
    time = whole["pseudotime"].to_numpy()
    turn = int(time.argmin())
    assert (np.diff(time[: turn + 1]) < 0).all()
    assert (np.diff(time[turn + 1 :]) > 0).all()
    assert list(whole["stretch"].cat.categories) == ["to T2", "to T3"]
    assert [whole["branch"].iloc[i] for i in (0, turn, turn + 1, -1)] == ["B2", "B1", "B1", "B3"]
    arms = get.heatmap(adata, ["own", "rise"], fork="F1", trunk=False)
    assert set(arms.columns["branch"]) == {"B2", "B3"}
    assert arms.columns["pseudotime"].min() > 2
    assert arms.columns["n_cells"].sum() == (adata.obs["ddrtree_branch"] != "B1").sum()
    # the gene that is high beyond the fork on B3
    own = arms.matrix.loc["own"].groupby(arms.columns["stretch"].to_numpy(), observed=True).mean()
    assert own["to T3"] > 0.5 > own["to T2"]


def test_more_arms_follow_one_another():
    star = ([[0, 0], [2, 0], [3.5, 1.2], [3.5, -1.5], [4, 0]], [[0, 1], [1, 2], [1, 3], [1, 4]])
    adata = cells_with_genes(star)
    tl.trends(adata)
    columns = get.heatmap(adata, ["own"], fork="F1").columns
    assert list(columns["stretch"].cat.categories) == ["to F1", "to T2", "to T3", "to T4"]
    assert columns["n_cells"].sum() == adata.n_obs
    assert list(get.heatmap(adata, ["own"], fork="F1", trunk=False).columns["stretch"].cat.categories) == [
        "to T2", "to T3", "to T4"
    ]  # fmt: skip


def test_genes_by_p_value_and_the_order_of_rows(adata):
    first = get.association(adata)["names"].head(5)
    tables = get.heatmap(adata, n_genes=5)
    assert set(tables.matrix.index) == set(first)
    assert tables.chosen == "5 of 10 genes: smallest p-values (association)"
    peak = tables.matrix.to_numpy().argmax(axis=1)
    assert (np.diff(peak) >= 0).all()
    np.testing.assert_allclose(tables.genes["peak_pseudotime"], tables.columns["pseudotime"].to_numpy()[peak])
    assert list(tables.genes["peak_branch"]) == list(tables.columns["branch"].astype(str).to_numpy()[peak])
    assert list(get.heatmap(adata, n_genes=5, sort=None).matrix.index) == list(first)
    fork = get.heatmap(adata, fork="F1", n_genes=3, sort=None)
    assert list(fork.matrix.index) == list(get.branch_test(adata, "F1")["names"].head(3))
    assert fork.chosen == "3 of 10 genes: smallest p-values (test of F1)"
    by_group = get.heatmap(adata, list(adata.var_names[adata.var_names != "none"]), sort="cluster")
    code = by_group.genes["cluster"].cat.codes.to_numpy()
    code = np.where(code < 0, 99, code)
    assert (np.diff(code) >= 0).all()
    peak = by_group.matrix.to_numpy().argmax(axis=1)
    assert all((np.diff(peak[code == k]) >= 0).all() for k in set(code))
    assert by_group.chosen == "10 genes"


def test_without_a_test_those_that_change_most(many):
    tables = get.heatmap(many, n_genes=2)
    assert tables.chosen == "2 of 4 genes: largest change"
    assert "even" not in tables.matrix.index


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"lineage": "T1"}, KeyError, r"lineage: there is no 'T1'. Available: \['T2', 'T3'\]"),
        ({"fork": "F2"}, KeyError, r"fork='F2' is not on the skeleton. Available: \['F1'\]"),
        ({"fork": "T1"}, KeyError, r"fork='T1' is a tip; wanted a fork. Available: \['F1'\]"),
        ({"groupby": "branch"}, ValueError, "groupby='branch' is a column of the table itself"),
        ({"lineage": "T2", "fork": "F1"}, ValueError, "lineage='T2' and fork='F1' were given; wanted one of them"),
        ({"groupby": "type"}, KeyError, "groupby='type' is not in adata.obs"),
        ({"sort": "size"}, ValueError, "sort='size' is not known"),
        ({"n_genes": 0}, ValueError, "n_genes=0 is out of range"),
        ({"n_columns": 3}, ValueError, "n_columns=3 is out of range"),
        ({"genes": "none"}, ValueError, "'none' has no curve"),
    ],
)
def test_errors(adata, options, kind, message):
    with pytest.raises(kind, match=message):
        get.heatmap(adata, **options)


def test_genes_that_were_not_grouped_and_a_fork_that_is_none(many):
    with pytest.raises(KeyError, match=r"sort='cluster': genes were not grouped. Run skeltraj.tl.cluster_trends"):
        get.heatmap(many, sort="cluster")
    adata = cells_with_genes(FORK, root=1)
    tl.trends(adata)
    assert len(set(get.heatmap(adata, ["own"], fork="F1").columns["stretch"])) == 3  # the root itself has three arms
