"""One HTML page about a stored skeleton."""

from __future__ import annotations

import re

import anndata as ad
import numpy as np
import pytest

import skeltraj as st
from samples import CROSS, by_hand, cells, rings
from skeltraj import pl, tl
from skeltraj.pl._page import section as sections
from skeltraj.pl._page.pictures import Picture
from stored import same, snapshot
from studied import ARABIC, CLOSING, LONG, SCRIPT, studied

ALL = [
    "What was learned",
    "The tree",
    "Groups",
    "What changes along it",
    "Time to event",
    "How sure it is",
    "Which way it runs",
    "The fit",
    "Parameters and versions",
]


@pytest.fixture(scope="module")
def _studied():
    return studied()


@pytest.fixture(scope="module")
def whole(_studied, tmp_path_factory):
    """A page of everything, with its pictures; the cells stay as they were."""
    adata = _studied.copy()
    before = snapshot(adata)
    path = tmp_path_factory.mktemp("page") / "page.html"
    assert pl.report(adata, path, groupby="group", title=SCRIPT, interactive=False) == path
    same(adata, before)
    return path.read_text(encoding="utf-8")


@pytest.fixture
def undrawn(monkeypatch):
    """Pictures are not drawn, which takes a while; their captions are there."""
    drawn = []

    def made(draw, alt, caption, n_marks=0):
        drawn.append((draw.func.__name__, draw.keywords))
        return Picture("data:image/png;base64,", "data:image/png;base64,", 10, 10, alt, caption)

    monkeypatch.setattr(sections, "picture", made)
    monkeypatch.setattr("skeltraj.pl._report.find_spec", lambda name: None)  # nor is plotly's code put in
    return drawn


@pytest.fixture
def adata(_studied):
    return _studied.copy()


def titles(text):
    return re.findall(r'<h2 id="[a-z]+-title">(.*?)</h2>', text)


def test_everything_that_is_stored_is_on_the_page(whole):
    assert titles(whole) == ALL
    assert "could not be" not in whole
    assert whole.count('<img class="light"') == whole.count('<img class="dark"') >= 15
    for caption in (
        "On UMAP, coloured by group.",
        "Unfolded from the root (star)",
        "Which nodes are joined, sorted by group.",
        "Shares of group by branch",
        "Largest change from the root against the q-value.",
        "Genes by pseudotime, branch by branch",
        "place: means of stretches of pseudotime",
        "By stretch of pseudotime: Kaplan and Meier",
        "Support of branches.",
        "Arrow heads",
        "The objective over the rounds.",
    ):
        assert caption in whole


def test_names_of_the_data_are_escaped(whole):
    assert whole.count("<script>") == whole.count("<style>") == 1
    for name in (SCRIPT, CLOSING):
        assert name not in whole
    assert ARABIC in whole
    assert LONG.strip() in whole


def test_every_picture_says_what_it_shows(whole):
    images = re.findall(r"<img [^>]*>", whole)
    assert all(re.search(r' alt="[^"]{10,}"', image) for image in images)


def test_nothing_is_asked_for(whole):
    assert set(re.findall(r'(?:src|href)="([a-z]+:|#)', whole)) == {"data:", "#"}
    assert "url(" not in whole
    assert "@import" not in whole


def test_what_is_not_stored_is_named_with_its_call(undrawn):
    adata = cells(60)
    tl.ddrtree(adata, 2, n_nodes=10, denoise=False, prune=False, n_starts=1, key_added="mine")
    text = pl.report(adata, key="mine")
    assert titles(text) == [
        "What was learned",
        "The tree",
        "Groups",
        "The fit",
        "Not stored, and how to make it",
        "Parameters and versions",
    ]
    assert "st.tl.order(adata, root=..., key=&#39;mine&#39;)" in text
    assert {name for name, _ in undrawn} == {"graph", "adjacency", "objective"}
    tl.order(adata, {"stage": "stem"}, key="mine")
    text = pl.report(adata, key="mine")
    for call in ("order(", "composition(adata, &#39;stage&#39;", "association(adata", "branch_test(", "trends(",
                 "survival(", "stability(", "direction("):  # fmt: skip
        assert (f"st.tl.{call}" in text) == (call != "order(")
    assert "progression" in {name for name, _ in undrawn}


def test_the_page_says_which_columns_were_chosen(undrawn, adata):
    adata.obs["one"] = "same"
    adata.obs["donor"] = adata.obs_names  # as many groups as cells
    adata.obs["number"] = range(adata.n_obs)
    text = pl.report(adata)
    # that from which the root was taken, then that with a stored composition
    assert "grouped by stage and group (chosen; groupby=[...] takes others; other columns: event)." in text
    assert "grouped by group." in pl.report(adata, groupby="group")


def test_warnings_stand_at_the_beginning(undrawn, adata):
    adata.uns["ddrtree"]["params"]["version"] = "0.0.1"
    adata.uns["ddrtree"]["converged"] = False
    part = adata[:60].copy()
    text = pl.report(part)
    assert "ordered when there were 90 of them and are 60 now" in text
    assert "learned by version 0.0.1 of this package" in text
    assert "stopped before it converged" in text
    adata = cells(60)
    tl.ddrtree(adata, 2, n_nodes=10, denoise=False, prune=False, n_starts=1)
    with pytest.warns(UserWarning, match="No root was given"):
        tl.order(adata)
    assert "The root was guessed" in pl.report(adata)


def test_what_no_longer_fits_is_a_warning_and_the_rest_stands(undrawn, adata):
    from skeltraj.pl._page.pictures import picture

    def drawn(draw, alt, caption, n_marks=0):
        if draw.func.__name__ == "composition":
            return picture(draw, alt, caption, n_marks)
        return Picture("data:,", "data:,", 1, 1, alt, caption)

    sections.picture, stub = drawn, sections.picture
    try:
        adata.obs["group"] = adata.obs["group"].cat.rename_categories(["a", "b", "c", "d"])
        text = pl.report(adata, groupby="group")
    finally:
        sections.picture = stub
    assert "This could not be drawn: " in text
    assert titles(text) == ALL


@pytest.mark.filterwarnings("ignore:No lineage was found", "ignore:.*have no pseudotime")
def test_loops_and_parts(undrawn):
    adata = rings(120)
    tl.principal_graph(adata, n_nodes=16)
    tl.order(adata, 0, key="principal_graph")
    text = pl.report(adata, key="principal_graph")
    assert "cannot be laid flat" in text
    assert "have no pseudotime: they lie on parts without the root" in text
    assert "cannot be learned again from other cells" in text


def test_learned_similarities(undrawn):
    adata = cells(60)
    tl.spl(adata, 2)
    tl.order(adata, 0, key="spl")
    text = pl.report(adata, key="spl")
    assert "similar pairs" in text
    assert "there are no branches to unfold" in text
    assert "could not be" not in text


def test_new_cells_on_a_tree(undrawn):
    adata = cells(60)
    tl.ddrtree(adata, 2, n_nodes=10, denoise=False, prune=False, n_starts=1)
    tl.order(adata, {"stage": "stem"})
    new = cells(60)[:30].copy()
    tl.ingest(new, adata)
    assert "were put on the tree of 60 others" in pl.report(new)


def test_one_component_and_a_tree_made_by_hand(undrawn):
    adata = by_hand(**CROSS)
    tl.order(adata, 0)
    assert "could not be" not in pl.report(adata)
    flat = by_hand([[0.0], [1.0], [2.0]], [[0, 1], [1, 2]], [[0.1], [0.9], [1.8]])
    tl.order(flat, 0)
    undrawn.clear()
    assert "could not be" not in pl.report(flat)
    assert "graph" not in {name for name, _ in undrawn}


def test_the_root_of_a_path_has_the_name_it_has_on_the_whole(undrawn):
    adata = by_hand(**CROSS)
    tl.order(adata, "T4")
    path = tl.select_path(adata, "T1", "T4")
    assert "Pseudotime begins at T4 (node 4)" in pl.report(path)


def test_forks_that_were_made_one_are_no_branches_that_were_pruned(undrawn):
    rng = np.random.default_rng(3)
    arms = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [-0.4, -0.4, 0, 0.3], [0, 0, -0.3, 0.5]])
    arm = rng.choice(5, 900, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    X = (rng.random(900) * np.array([3, 2.5, 2, 1, 0.8])[arm])[:, None] * arms[arm]
    adata = ad.AnnData(np.c_[X, np.zeros((900, 4))] + 0.12 * rng.standard_normal((900, 8)))
    tl.ddrtree(adata, use_rep="X")
    assert adata.uns["ddrtree"]["pruned"]["report"]["what"].tolist() == ["branch", "branch", "branch", "forks"]
    text, said = pl.report(adata), "3 branches pruned, 1 pair of forks made one"
    assert said in text
    assert "4 branches" not in text
    assert said in " ".join(repr(st.get.summary(adata)).split())


def test_genes_and_another_basis(undrawn, adata):
    adata.obsm["X_mine"] = adata.obsm["X_umap"]
    text = pl.report(adata, genes="gene0", basis="mine")
    assert "On mine, coloured by" in text
    assert "On UMAP" not in text
    assert [name for name, _ in undrawn].count("trends") == 1


def test_the_view_that_can_be_turned(undrawn, adata, monkeypatch):
    text = pl.report(adata, groupby="group")
    assert "<iframe" not in text
    assert "st.pl.graph_3d(adata, save=&#39;tree.html&#39;)" in text
    text = pl.report(adata, groupby="group", interactive=True)
    assert text.count("<iframe ") == 1
    assert SCRIPT not in text
    [policy] = re.findall(r"script-src ([^;]*);", text)
    assert len(policy.split()) == 3  # the page's own, plotly, and the view's
    assert "unsafe" not in policy
    monkeypatch.undo()
    monkeypatch.setattr(sections, "picture", lambda draw, alt, said, n=0: Picture("data:,", "data:,", 1, 1, alt, said))
    assert "<iframe " in pl.report(adata, groupby="group")


def test_a_view_of_two_components_is_refused(undrawn, tmp_path):
    adata = by_hand(**CROSS)
    with pytest.raises(ValueError, match="wanted three"):
        pl.report(adata, tmp_path / "page.html", interactive=True)
    assert list(tmp_path.iterdir()) == []


def test_a_page_without_a_file_is_text(undrawn, adata):
    text = pl.report(adata)
    assert isinstance(text, str)
    assert text.startswith("<!DOCTYPE html>")
    assert repr(text).startswith("A page of ")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (dict(key="other"), KeyError, r"no skeleton is stored as adata\.uns\['other'\]"),
        (dict(groupby="nothing"), KeyError, r"groupby='nothing' is not in adata\.obs"),
        (dict(groupby="time"), TypeError, r"adata\.obs\['time'\] is numeric"),
        (dict(genes=["gene0", "gene99"]), KeyError, r"genes: 'gene99' is not in adata\.var_names \(1 of 2 are not\)"),
        (dict(genes=[]), ValueError, "genes is an empty list"),
        (dict(basis="tsne"), KeyError, "tsne"),
        (dict(title=3), TypeError, "title=3 is a int; wanted a string"),
        (dict(interactive="maybe"), TypeError, "interactive='maybe'"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_written(adata, undrawn, tmp_path, options, error, message):
    before = snapshot(adata)
    with pytest.raises(error, match=message):
        pl.report(adata, tmp_path / "page.html", **options)
    assert list(tmp_path.iterdir()) == []
    assert undrawn == []
    same(adata, before)


def test_where_nothing_can_be_written(adata, undrawn, tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; wanted the name of a file"):
        pl.report(adata, tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        pl.report(adata, tmp_path / "nowhere" / "page.html")


def test_the_order_of_another_skeleton_is_refused(adata, undrawn, tmp_path):
    adata.uns["ddrtree"]["order"]["node_pseudotime"] = adata.uns["ddrtree"]["order"]["node_pseudotime"][:-1]
    with pytest.raises(ValueError, match=r"\['node_pseudotime'\] is of shape \(13,\); wanted \(14,\)"):
        pl.report(adata, tmp_path / "page.html")
    with pytest.raises(TypeError, match="adata is a list; wanted an AnnData"):
        st.pl.report([1])


def test_what_the_others_of_a_tree_say_is_told_as_long_as_it_is_that_tree(undrawn):
    adata = cells(120)
    tl.ddrtree(adata, n_components=2, n_nodes=20, n_starts=3, prune=True)
    tl.order(adata, root={"stage": "stem"})
    text = str(pl.report(adata, groupby="stage", interactive=False))
    assert "Trees were learned from 3 starts, and this is the one with which the others agree best" in text
    assert "starts: the share of the other trees that have this branch." in text
    assert "changed since" not in text
    tl.prune(adata, n_tips=2)
    text = str(pl.report(adata, groupby="stage", interactive=False))
    assert "where 1 would be the same branches. It has been changed since." in text
    assert "starts: the share" not in text


def test_groups_that_are_others_than_those_compared_are_told(undrawn, adata):
    named = adata.obs["stage"].cat.categories
    tl.composition(adata, "stage", n_permutations=19)
    assert "have other numbers of cells" not in pl.report(adata, groupby="stage")
    adata.obs["stage"] = adata.obs["stage"].cat.rename_categories({named[0]: named[1], named[1]: named[0]})
    assert pl.report(adata, groupby="stage").count("have other numbers of cells than when they were compared") == 1


def test_a_column_called_as_one_of_the_table(undrawn, adata):
    for name in ("branch", "node", "median_pseudotime", "n_cells"):
        adata.obs[name] = adata.obs["stage"]
        assert st.get.groups(adata, name).index.name == name
        text = pl.report(adata, groupby=name)
        assert "This could not be" not in text


def test_a_column_of_lists_is_no_grouping(undrawn, adata):
    adata.obs["lists"] = [[1]] * adata.n_obs
    assert "grouped by stage and group" in pl.report(adata)


def test_how_tests_were_made_is_told(undrawn, adata):
    text = pl.report(adata[:, :3].copy(), groupby="stage")
    assert "5 genes tested (gaussian, values in &#39;X&#39;), of which 3 are left," in text
    tables = st.get.survival(adata)
    text = pl.report(adata, groupby="stage")
    assert "5 genes tested (gaussian, values in &#39;X&#39;) on 90 cells" in text
    assert f"of branches, against {tables.reference}. Restricted means: up to" in text
    adata.obs["donor"] = np.arange(adata.n_obs) % 6
    adata.obs["more"] = np.random.default_rng(0).normal(size=adata.n_obs)
    tl.association(adata, columns=["place"], sample="donor", covariates="more")
    tl.branch_test(adata, between=("root", str(st.get.graph(adata).tip_names[0])))
    text = pl.report(adata, groupby="stage")
    said = (
        "Tested on up to 90 cells, those with a value. Covariates: more. The 6 samples of &#39;donor&#39; are the unit"
    )
    assert said in text
    assert "Genes that differ between the two places root-T1; logfoldchanges: the second less the first." in text
