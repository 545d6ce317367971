"""What the picture that can be turned shows, and what its page holds."""

from __future__ import annotations

import base64
import json
import sys
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

import skeltraj as st
from samples import LINES, by_hand, cells
from skeltraj import get, pl, tl

pytest.importorskip("plotly")


def traces(figure, mode="markers"):
    """Traces of cells, without those of nodes."""
    return [of for of in figure.data if of.mode == mode and of.customdata is None]


def places(trace):
    return np.column_stack([trace.x, trace.y, trace.z])


def nodes_of(figure):
    [trace] = [of for of in figure.data if of.customdata is not None]
    return trace


def parts(path):
    """Scripts of a page by the kind of each, and its other tags."""
    found, tags = [], []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            tags.append((tag, dict(attributes)))
            if tag == "script":
                found.append([dict(attributes).get("type"), ""])

        def handle_data(self, data):
            if tags and tags[-1][0] == "script":
                found[-1][1] += data

        def handle_endtag(self, tag):
            tags.append(("/" + tag, {}))

    Reader().feed(path.read_text(encoding="utf-8"))
    return found, tags


def stored(path):
    """What a page holds as data."""
    [data] = [text for kind, text in parts(path)[0] if kind == "application/json"]
    return json.loads(data)


def unpacked(text, kind="<f4"):
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def test_cells_and_tree_stand_where_they_are_stored(adata):
    figure = pl.graph_3d(adata, color="stage", components=(2, 0, 1))
    at = adata.obsm["X_ddrtree"][:, [2, 0, 1]].astype(np.float32)
    groups = traces(figure)
    assert [of.name for of in groups] == ["left", "right", "stem"]
    for of, color in zip(groups, ["#0072b2", "#e69f00", "#009e73"], strict=True):
        rows = (adata.obs["stage"] == of.name).to_numpy()
        np.testing.assert_array_equal(places(of), at[rows])
        assert list(of.text) == adata.obs_names[rows].tolist()
        assert of.marker.color.lower() == color
        assert of.hovertemplate == f"%{{text}}<br>stage: {of.name}<extra></extra>"
        assert places(of).dtype == np.float32
    tree = get.graph(adata)
    [line] = traces(figure, "lines")
    drawn = places(line)
    pieces = np.split(drawn, np.flatnonzero(np.isnan(drawn[:, 0])))
    edges = [np.stack([a, b]) for piece in pieces for a, b in pairwise(piece)]
    edges = {e.tobytes() for e in edges if np.isfinite(e).all()}
    wanted = tree.nodes[:, [2, 0, 1]][tree.edges].astype(np.float32)
    assert len(edges) == len(tree.edges)
    assert edges <= {e.tobytes() for e in wanted} | {e[::-1].tobytes() for e in wanted}
    scene = figure.layout.scene
    titles = [axis.title.text for axis in (scene.xaxis, scene.yaxis, scene.zaxis)]
    assert titles == ["DDRTree 3", "DDRTree 1", "DDRTree 2"]
    assert figure.layout.title.text == figure.layout.legend.title.text == "stage"
    assert figure.layout.title.subtitle.text == "200 cells"


def test_nodes_say_what_to_give_as_root(adata):
    figure, tree = pl.graph_3d(adata), get.graph(adata)
    trace = nodes_of(figure)
    np.testing.assert_array_equal(places(trace), tree.nodes.astype(np.float32))
    order = adata.uns["ddrtree"]["order"].copy()
    root = order["root"]
    assert trace.marker.symbol[root] == "diamond"
    assert trace.marker.symbol.count("diamond") == 1
    for node, (name, text) in enumerate(zip(trace.customdata, trace.text, strict=True)):
        assert name == tree.node_names.get(node, node)
        assert ("the root" in text) == (node == root)
        assert f"pseudotime {order['node_pseudotime'][node]:.4g}" in text
        tl.order(adata, root=name)
        assert adata.uns["ddrtree"]["order"]["root"] == node
    notes = {note.text: (note.x, note.y, note.z) for note in figure.layout.scene.annotations}
    assert len(notes) == len(tree.node_names)
    for node, name in tree.node_names.items():
        name = f"{name} (root)" if node == root else name
        assert notes[f"<b>{name}</b>"] == tuple(tree.nodes[node])
    assert not pl.graph_3d(adata, labels=False).layout.scene.annotations


def test_a_menu_switches_colours(adata):
    adata.obs["number"] = adata.obs["number"].where(np.arange(200) % 3 > 0)
    figure = pl.graph_3d(adata, color=["stage", "number", "gene1"], cmap="magma", vmax=[None, 100, None])
    groups = traces(figure)
    assert [of.name for of in groups] == ["left", "right", "stem", "missing", "number", "gene1"]
    [menu] = figure.layout.updatemenus
    assert [button.label for button in menu.buttons] == ["stage", "number", "gene1"]
    own = [3, 2, 1]
    for i, button in enumerate(menu.buttons):
        shown, words = button.args
        wanted = [True] * (len(figure.data) - 6) + [j == i for j, n in enumerate(own) for _ in range(n)]
        assert shown["visible"] == wanted
        assert words == {"title.text": button.label, "legend.title.text": button.label}
    assert [of.visible is not False for of in figure.data] == list(menu.buttons[0].args[0]["visible"])
    missing, number, gene = groups[3:]
    there = np.arange(200) % 3 > 0
    np.testing.assert_array_equal(number.marker.color, adata.obs["number"][there].to_numpy(np.float32))
    assert (number.marker.cmin, number.marker.cmax) == (adata.obs["number"].min(), 100)
    assert number.marker.colorscale[0] == (0, to_hex(plt.get_cmap("magma")(0.0)))
    assert number.marker.colorscale[-1] == (1, to_hex(plt.get_cmap("magma")(1.0)))
    assert len(missing.x) == 67
    assert missing.marker.color == pl._drawing.style.missing()
    np.testing.assert_allclose(gene.marker.color, adata.X[:, 1], rtol=1e-6)
    assert "%{marker.color" in gene.hovertemplate
    assert not pl.graph_3d(adata, color="stage").layout.updatemenus


def test_what_shows_under_the_pointer(adata):
    adata.obs["late"] = np.where(np.arange(200) % 2, np.nan, 1 / 3)
    [left, *_] = traces(pl.graph_3d(adata, color="stage", hover=["late", "stage"]))
    rows = np.flatnonzero(adata.obs["stage"] == "left")
    late = ["0.3333" if row % 2 == 0 else "missing" for row in rows]
    assert list(left.text) == [f"cell{r}<br>late: {t}<br>stage: left" for r, t in zip(rows, late, strict=True)]
    assert left.hovertemplate == "%{text}<extra></extra>"


def test_colours_follow_scanpy_and_the_ground(adata):
    adata.uns["stage_colors"] = ["#111111", "#222222", "#333333"]
    assert [of.marker.color for of in traces(pl.graph_3d(adata, color="stage"))] == adata.uns["stage_colors"]
    named = pl.graph_3d(adata, color="stage", palette={"left": "red", "right": "blue", "stem": "lime"}, groups="stem")
    assert [of.name for of in traces(named)] == ["other", "stem"]
    assert traces(named)[1].marker.color == "#00ff00"
    light, dark = (pl.graph_3d(adata, theme=theme) for theme in ("light", "dark"))
    assert light.layout.paper_bgcolor == light.layout.scene.bgcolor == "#ffffff"
    assert sum(int(dark.layout.paper_bgcolor[i : i + 2], 16) for i in (1, 3, 5)) < 120
    for figure in (light, dark):
        assert nodes_of(figure).marker.color == traces(figure, "lines")[0].line.color == figure.layout.font.color
    with plt.style.context("dark_background"):
        assert pl.graph_3d(adata).layout.paper_bgcolor == "#000000"


def test_no_group_covers_another_and_grey_covers_none(adata):
    opacity = lambda figure: [(of.name, of.marker.opacity) for of in traces(figure)]
    # opaque marks are sorted by their depth; of others each trace covers those before it
    assert opacity(pl.graph_3d(adata, color="stage")) == [("left", 1), ("right", 1), ("stem", 1)]
    two = pl.graph_3d(adata, color="stage", groups=["left", "stem"])
    assert opacity(two) == [("other", 0.4), ("left", 1), ("stem", 1)]
    assert [of.legendrank for of in traces(two)] == [1001, None, None]  # last in the legend
    one = pl.graph_3d(adata, color="stage", groups="left")
    assert opacity(one) == [("other", 0.7), ("left", 0.7)]
    assert opacity(pl.graph_3d(adata)) == [("cells", 0.7)]
    assert opacity(pl.graph_3d(adata, color="number")) == [("number", 0.7)]
    given = pl.graph_3d(adata, color="stage", alpha=0.5)
    assert opacity(given) == [("left", 0.5), ("right", 0.5), ("stem", 0.5)]


def test_more_groups_than_a_legend_lists_are_one_trace(adata, tmp_path, caplog):
    adata.obs["clone"] = np.arange(adata.n_obs).clip(max=119).astype(str)
    assert len(traces(pl.graph_3d(adata, color="clone"))) == 120
    assert not caplog.records
    adata.obs["clone"] = np.where(np.arange(adata.n_obs), np.arange(adata.n_obs).clip(max=150).astype(str), None)
    names = [*map(str, range(1, 151)), "left", "right", "stem"]
    colors = {name: ["#112233", "#aabbcc", "#ddeeff"][i % 3] for i, name in enumerate(names)}
    path = tmp_path / "page.html"
    figure = pl.graph_3d(adata, color=["clone", "stage"], palette=colors, save=path)
    assert caplog.messages == ["'clone' has 150 groups, too many for a legend (120): it is left out."]
    grey, clones, *stages = traces(figure)
    assert (grey.name, clones.name, clones.showlegend) == ("missing", "clone", False)
    assert list(grey.text) == [f"{adata.obs_names[0]}<br>clone: missing"]
    known = adata.obs["clone"].dropna()
    assert list(clones.text) == [f"{name}<br>clone: {clone}" for name, clone in known.items()]
    # the colour that plotly makes of each number, in the steps of its scale
    scale, marker = clones.marker.colorscale, clones.marker
    share = (np.asarray(marker.color) - marker.cmin) / (marker.cmax - marker.cmin)
    lower = np.array([stop for stop, _ in scale])[::2]
    drawn = [scale[2 * i][1] for i in np.searchsorted(lower, share, side="right") - 1]
    assert drawn == [colors[clone] for clone in known]
    assert [low for _, low in scale[::2]] == [high for _, high in scale[1::2]]
    assert all("clone: " in text for of in stages for text in of.text)
    [column] = stored(path)["columns"]
    assert column["name"] == "clone"
    assert [text is None for text in stored(path)["numbers"]] == [True, False, True, True, True]
    assert len(traces(pl.graph_3d(adata, color="clone", groups=["3", "5"]))) == 3


def test_too_many_cells_are_thinned_and_the_title_says_so(adata, tmp_path):
    adata.obs["rare"] = pd.Categorical(np.where(np.arange(200) < 3, "rare", "usual"))
    figure = pl.graph_3d(adata, color="rare", max_cells=80, save=tmp_path / "page.html")
    rare, usual = traces(figure)
    assert (len(rare.x), len(usual.x)) == (3, 77)
    assert figure.layout.title.subtitle.text == "80 of 200 cells"
    assert len(nodes_of(figure).x) == 30
    nearest = np.asarray(adata.obsm["ddrtree_assignment"].argmax(axis=1)).ravel()
    shown = [*rare.text, *usual.text]
    assert set(nearest[adata.obs_names.get_indexer(shown)]) == set(nearest)
    turned = pl.graph_3d(adata[::-1].copy(), color="rare", max_cells=80)
    assert {name for of in traces(turned) for name in of.text} == set(shown)
    full = traces(pl.graph_3d(adata, color="number"))[0]
    few = traces(pl.graph_3d(adata, color="number", max_cells=40))[0]
    assert (few.marker.cmin, few.marker.cmax) == (full.marker.cmin, full.marker.cmax)
    assert len(stored(tmp_path / "page.html")["names"]) == 80


def test_the_page_holds_the_picture_once(adata, tmp_path):
    path = tmp_path / "page.html"
    figure = pl.graph_3d(adata, color=["stage", "number"], hover="stage", save=path)
    scripts, tags = parts(path)
    assert len(scripts) == 3
    assert not [attributes for _, attributes in tags if {"src", "href"} & set(attributes)]
    data = stored(path)
    np.testing.assert_array_equal(
        np.column_stack([unpacked(column) for column in data["places"]]), adata.obsm["X_ddrtree"].astype(np.float32)
    )
    assert data["names"] == adata.obs_names.tolist()
    [column] = data["columns"]
    assert [column["words"][code] for code in unpacked(column["codes"], "<i4")] == adata.obs["stage"].tolist()
    assert set(data["figures"]) == {"light", "dark"}
    for of in data["figures"].values():
        assert [t["name"] for t in of["data"][data["first"] :]] == [t.name for t in traces(figure)]
    for rows, trace in zip(data["rows"], traces(figure), strict=True):
        np.testing.assert_array_equal(adata.obsm["X_ddrtree"][unpacked(rows, "<i4")].astype(np.float32), places(trace))
    np.testing.assert_array_equal(unpacked(data["numbers"][-1]), adata.obs["number"].to_numpy(np.float32))
    pl.graph_3d(adata, theme="dark", save=path)
    assert set(stored(path)["figures"]) == {"dark"}


def test_names_from_the_data_are_shown_as_they_are(adata, tmp_path):
    bad = "</script><script>alert(1)</script>__DATA__ %{x} $a$ &amp;"
    shown = "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;__DATA__ &#37;{x} &#36;a&#36; &amp;amp;"
    adata.obs_names = [f"{name}{bad}" for name in adata.obs_names]
    adata.var_names = [bad, *adata.var_names[1:]]
    adata.obs[f"group{bad}"] = pd.Categorical(np.repeat([bad, "b"], 100))
    adata.obsm[f"X_{bad}"] = adata.obsm["X_ddrtree"]
    path = tmp_path / "page.html"
    figure = pl.graph_3d(
        adata, color=[f"group{bad}", bad], hover=f"group{bad}", basis=bad, title=bad, save=path
    )  # fmt: skip
    texts = json.dumps(figure.to_plotly_json()["layout"], default=str)
    texts += "".join(f"{of.name}{of.hovertemplate}{of.text}" for of in traces(figure))
    assert "<script" not in texts
    assert "</script" not in texts
    assert shown in texts
    assert "$a$" not in texts
    assert traces(figure)[0].text[0] == f"cell0{shown}<br>group{shown}: {shown}"
    assert len(parts(path)[0]) == 3
    assert stored(path)["names"][0] == f"cell0{bad}"
    assert "<title>&lt;/script&gt;" in path.read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore:No lineage was found")
@pytest.mark.parametrize("method", ["drtree", "principal_tree", "principal_graph", "mpme", "spl"])
def test_every_skeleton_can_be_drawn(method, tmp_path):
    adata = cells()
    getattr(st.tl, method)(adata, **({"n_components": 3} if method in ("drtree", "mpme", "spl") else {}))
    tl.order(adata, root=0, key=method)
    figure = pl.graph_3d(adata, method, color="stage", save=tmp_path / "page.html")
    drawn = [places(of) for of in traces(figure, "lines")]
    n_edges = sum(int((np.isfinite(at[:-1]) & np.isfinite(at[1:])).all(axis=1).sum()) for at in drawn)
    assert n_edges == len(adata.uns[method]["edges"])
    assert len(drawn) == (5 if method in ("mpme", "spl") else 1)
    if method in ("mpme", "spl"):
        assert len({of.line.color for of in traces(figure, "lines")}) == 5
    tree = get.graph(adata, method)
    nodes_are_cells = method in ("drtree", "mpme", "spl")  # of which only what has a name or is the root is marked
    marked = len({0, *tree.node_names}) if nodes_are_cells else tree.n_nodes
    assert len(nodes_of(figure).x) == marked


def test_loops_and_separate_parts_are_drawn():
    forest = by_hand(np.column_stack([LINES["nodes"], np.zeros(9)]), LINES["edges"], np.eye(6, 3))
    figure = pl.graph_3d(forest)
    [line] = traces(figure, "lines")
    assert np.isnan(places(line)[:, 0]).sum() == 3
    assert len(nodes_of(figure).x) == 9
    ring = by_hand([[0, 0, 0], [1, 0, 0], [1, 1, 0]], [[0, 1], [1, 2], [2, 0]], np.eye(4, 3))
    [line] = traces(pl.graph_3d(ring), "lines")
    np.testing.assert_array_equal(places(line)[0], places(line)[3])


@pytest.mark.parametrize("n", [1, 10])
def test_few_cells_can_be_drawn(n):
    rng = np.random.default_rng(0)
    adata = by_hand([[0, 0, 0], [1, 0, 0]], [[0, 1]], rng.standard_normal((n, 3)))
    adata.obs["same"] = 1.0
    [trace] = traces(pl.graph_3d(adata, color="same"))
    assert trace.marker.cmin == 1
    assert trace.marker.cmax > 1
    adata.obs["none"] = np.nan
    [trace] = traces(pl.graph_3d(adata, color="none"))
    assert trace.name == "missing"


def test_nothing_is_changed_and_nothing_shown(adata):
    kept = adata.copy()
    pl.graph_3d(adata, color=["stage", "gene1"], hover="number")
    pd.testing.assert_frame_equal(adata.obs, kept.obs)
    assert set(adata.uns) == set(kept.uns)
    assert not plt.get_fignums()


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (dict(components=(0, 1)), ValueError, r"components=\(0, 1\); wanted three: skeltraj.pl.graph draws two\."),
        (dict(components=(0, 1, 3)), ValueError, r"components=\(0, 1, 3\); the embedding has 3: 0 to 2\."),
        (dict(components=(-1, 1, 2)), ValueError, r"components=\(-1, 1, 2\); the embedding has 3: 0 to 2\."),
        (dict(basis="flat"), ValueError,
            r"adata.obsm\['X_flat'\] has 2 component\(s\); wanted three, or skeltraj.pl.graph, which draws two\. "
            r"In three or more there are, for basis: \['X_ddrtree'\]\."),
        (dict(basis="umap"), KeyError, r"basis='umap': neither 'umap' nor 'X_umap' is in adata.obsm\."),
        (dict(key="tree"), KeyError, r"no skeleton is stored as adata\.uns\['tree'\]\."),
        (dict(color="grade"), KeyError, r"color='grade' is neither a column of adata\.obs nor a gene"),
        (dict(color=[]), ValueError, "color is an empty list; wanted at least one name, or None"),
        (dict(hover=["stage", "grade"]), KeyError, r"hover: 'grade' is not in adata\.obs\. Available: \['ddrtree_br"),
        (dict(max_cells=0), ValueError, "max_cells=0 is out of range"),
        (dict(theme="blue"), ValueError, r"theme='blue' is not known\. Available: \['light', 'dark', None\]\."),
        (dict(alpha=2), ValueError, "alpha=2.* is out of range; wanted a number from 0 to 1"),
        (dict(size=-1), ValueError, "size=-1 is out of range"),
        (dict(color="vast"), ValueError, r"color 'vast' holds 1e\+300 in size; wanted at most 3\.4e38"),
        (dict(basis="vast"), ValueError, r"basis holds 1e\+40 in size; wanted at most 3\.4e38"),
    ],
)  # fmt: skip
def test_errors_name_what_there_is_and_write_nothing(adata, tmp_path, options, kind, message):
    adata.obsm["X_flat"] = adata.obsm["X_ddrtree"][:, :2]
    adata.obs["vast"] = np.where(np.arange(adata.n_obs) == 3, -1e300, 1.0)
    if options.get("basis") == "vast":
        adata.obsm["X_vast"] = np.where(np.arange(3) == 1, 1e40, 1.0) * np.ones((adata.n_obs, 1))
    with pytest.raises(kind, match=message):
        pl.graph_3d(adata, **options, save=tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("argument", ["color", "hover"])
def test_a_column_that_is_there_twice_is_refused(adata, argument):
    adata.obs = pd.concat([adata.obs, adata.obs[["stage"]]], axis=1)
    with pytest.raises(ValueError, match=rf"^{argument}: adata.obs has 2 columns called 'stage'; wanted one"):
        pl.graph_3d(adata, **{argument: "stage"})


def test_a_page_needs_a_folder_that_is_there(adata, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"save='.*no folder.tree\.html': there is no folder '.*no folder'\."):
        pl.graph_3d(adata, save=str(tmp_path / "no folder" / "tree.html"))


def test_without_plotly_the_error_says_how_to_install_it(adata, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(ImportError, match=r"graph_3d needs the plotly package; .* -m pip install 'skeltraj\[html\]'"):
        pl.graph_3d(adata)
