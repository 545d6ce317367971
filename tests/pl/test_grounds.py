"""Every picture can be read on light ground and on dark: each text, line and mark contrasts with what is behind it.

Contrast is WCAG 2.2's ratio of luminances, from 1 to 21. Texts must reach 4.5, as it asks of text (AA). Of marks it
asks 3, which no palette can give whose colours are told apart with any colour vision and are the same on white and on
black: some must be lighter than others. Lines must reach 2, which is what sky blue and amber have on white. Areas and
points must reach 1.6: they are larger, there are many, and the ends of a colour map lie far apart. Colours are taken
without their opacity where marks overlap.
"""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.patches import FancyArrowPatch, Patch
from matplotlib.spines import Spine
from matplotlib.text import Annotation, Text
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from genes_on_trees import cells_with_genes
from samples import cells
from skeltraj import pl, tl
from skeltraj._palette import contrast
from skeltraj.pl._drawing.style import GAP

TEXT, LINE, AREA = 4.5, 2.0, 1.6

pytestmark = pytest.mark.filterwarnings("ignore:.*genes have the same value", "ignore:.*replicates")


@pytest.fixture(scope="module")
def on_tree():
    rng = np.random.default_rng(5)
    adata = cells(200)
    adata.obs["number"] = rng.permutation(200).astype(float)
    adata.obs["score"] = rng.standard_normal(200)
    adata.obs["holes"] = adata.obs["stage"].where(rng.random(200) < 0.8)
    adata.obs["months"], adata.obs["dead"] = np.ceil(rng.exponential(30, 200)), rng.random(200) < 0.6
    tl.ddrtree(adata, 3, n_nodes=30, denoise=False, max_iter=1000)
    tl.order(adata, {"stage": "stem"})
    tl.composition(adata, "stage", n_permutations=100)
    tl.survival(adata, "months", "dead")
    tl.stability(adata, n_replicates=3)
    table = adata.uns["ddrtree"]["stability"]["branches"]
    table["support"] = np.linspace(0.2, 1.0, len(table))
    return adata


@pytest.fixture(scope="module")
def with_genes():
    adata = cells_with_genes(n_more=6)
    adata.obs["kind"] = np.where(adata.obs["ddrtree_branch"] == "B1", "early", "late")
    tl.association(adata, size_factors="factor")
    tl.trends(adata, size_factors="factor")
    tl.cluster_trends(adata, 3)
    return adata


@pytest.fixture(scope="module")
def similar():
    adata = cells(60)
    tl.mpme(adata, 3)
    tl.order(adata, 0, key="mpme")
    return adata


# How each function of `pl` is called, on which of the samples above
CALLS = {
    "adjacency": [("on_tree", lambda a: pl.adjacency(a, groupby="stage"))],
    "composition": [("on_tree", lambda a: pl.composition(a, "stage", level=1.0))],
    "covariate": [("on_tree", lambda a: pl.covariate(a, "number", n_bins=5))],
    "dendrogram": [("on_tree", lambda a: pl.dendrogram(a, color=["stage", "score"], labels=True))],
    "graph": [
        ("on_tree", lambda a: pl.graph(a, color=["holes", "number", "score"], labels=True)),
        ("on_tree", lambda a: pl.graph(a)),
        ("on_tree", lambda a: pl.graph(a, color="stage", components=(0, 1, 2))),
        ("on_tree", lambda a: pl.graph(a, color="stage", groups="left", legend_loc="on data")),
    ],
    "heatmap": [("with_genes", lambda a: pl.heatmap(a, groupby="kind", sort="cluster"))],
    "objective": [("on_tree", lambda a: pl.objective(a))],
    "progression": [("on_tree", lambda a: pl.progression(a, "stage"))],
    "similarity": [("similar", lambda a: pl.similarity(a, groupby="stage"))],
    "stability": [
        ("on_tree", lambda a: pl.stability(a, bars=True)),
        ("on_tree", lambda a: pl.stability(a, spread=True, support="edge")),
    ],
    "survival": [("on_tree", lambda a, by=by: pl.survival(a, by)) for by in ("branch", "stretch")],
    "trends": [("with_genes", lambda a: pl.trends(a)), ("with_genes", lambda a: pl.trends(a, color="kind"))],
    "volcano": [("with_genes", lambda a: pl.volcano(a))],
}
OTHERS = {"graph_3d", "report"}  # which draw no Axes


def test_every_picture_is_in_the_table():
    assert set(CALLS) == set(pl.__all__) - OTHERS


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("name", CALLS)
def test_all_can_be_read(name, style, request):
    for sample, draw in CALLS[name]:
        adata = request.getfixturevalue(sample)
        with plt.style.context(style):
            draw(adata)
            [number] = plt.get_fignums()
            assert unreadable(plt.figure(number)) == []
        plt.close("all")


def test_what_cannot_be_read_is_found():
    with plt.style.context("dark_background"):
        figure, ax = plt.subplots()
        ax.plot([0, 1], [0, 1], color="black")
        ax.scatter([0, 1], [1, 0], color="#111111")
        ax.bar([0], [1], color="#000000")
        ax.text(0.5, 0.5, "dark", color="#222222")
        ax.set_title("title", color="black")
        said = " ".join(unreadable(figure))
    for what in ("Line2D", "PathCollection", "Rectangle", "dark", "title"):
        assert what in said


def unreadable(figure):
    """What stands out too little from the ground, in words."""
    figure.canvas.draw()
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip() and shown(text)]
    bad = [f"{text.get_text()!r}: {c:.2f}" for text, c in zip(texts, contrasts(figure, texts), strict=True) if c < TEXT]
    for ax in figure.findobj(plt.Axes):
        paper = to_rgb(ax.get_facecolor()) if ax.get_facecolor()[3] else to_rgb(figure.get_facecolor())
        for artist in [*ax.lines, *ax.collections, *ax.patches, *ax.spines.values(), *arrows(ax)]:
            if artist.get_visible() and artist.get_gid() != GAP and (ax.axison or artist not in ax.spines.values()):
                for least, color in colors(artist):
                    if contrast(color, paper) < least:
                        bad.append(f"{type(artist).__name__} {np.round(color, 2)}: {contrast(color, paper):.2f}")
                        break
        legend = ax.get_legend()
        bad += in_legend(legend, paper) if legend is not None else []
    for legend in figure.legends:
        bad += in_legend(legend, to_rgb(figure.get_facecolor()))
    return bad


def shown(text):
    """Whether a text is drawn: its Axes have their axes on, and it stands within the figure."""
    ax = text.axes
    if ax is not None and not ax.axison and text not in [*ax.texts, ax.title]:
        return False
    box = Text.get_window_extent(text)
    return box.width > 0 and text.figure.bbox.overlaps(box)


def contrasts(figure, texts):
    """The contrast of each text with its rim, or with what the figure shows where it stands."""
    boxes = [Text.get_window_extent(text) for text in texts]  # of an annotation without its arrow
    opacities = [text.get_alpha() for text in texts]
    for text in texts:
        text.set_alpha(0)  # so that they keep their room
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[::-1, :, :3] / 255
    for text, box, alpha in zip(texts, boxes, opacities, strict=True):
        text.set_alpha(alpha)
        rims = [effect._gc["foreground"] for effect in text.get_path_effects() if hasattr(effect, "_gc") and effect._gc]
        (x0, y0), (x1, y1) = np.clip(np.floor(box.min), 0, None).astype(int), np.ceil(box.max).astype(int) + 1
        there = pixels[y0:y1, x0:x1].reshape(-1, 3)
        if not rims and not len(there):
            yield np.inf  # outside of the figure, as the names of ticks beyond an axis
            continue
        behind = to_rgb(rims[0]) if rims else np.median(there, axis=0)
        yield contrast(to_rgb(text.get_color()), behind)


def arrows(ax):
    return [t.arrow_patch for t in ax.texts if isinstance(t, Annotation) and t.arrow_patch is not None]


def colors(artist):
    """The least contrast asked of an artist, and each of its colours; of a mark with an edge the one that is seen."""
    if isinstance(artist, PolyCollection):
        return []  # intervals, behind lines in their own colour
    if isinstance(artist, LineCollection | Line3DCollection):
        return [(LINE, color[:3]) for color in artist.get_colors()]
    if isinstance(artist, PathCollection):
        edges = artist.get_edgecolors()
        edged = len(edges) == 1 and np.max(artist.get_linewidths(), initial=0) > 0 and edges[0][3] > 0
        paper = to_rgb(plt.rcParams["axes.facecolor"])
        faces = [color[:3] for color in artist.get_facecolors()]
        if edged:
            faces = [max(face, edges[0][:3], key=lambda c: contrast(c, paper)) for face in faces]
        return [(AREA, face) for face in faces]
    if isinstance(artist, FancyArrowPatch):
        return [(LINE, to_rgb(artist.get_edgecolor()))]
    if isinstance(artist, Patch):
        filled = artist.get_fill() and artist.get_facecolor()[3] > 0 and not isinstance(artist, Spine)
        return [(AREA, to_rgb(artist.get_facecolor() if filled else artist.get_edgecolor()))]
    if hasattr(artist, "get_linestyle") and hasattr(artist, "get_color"):
        drawn = artist.get_linestyle() not in ("None", "", " ") or artist.get_marker() not in ("None", "", None)
        return [(LINE, to_rgba(artist.get_color())[:3])] if drawn and len(artist.get_xdata()) else []
    return []


def in_legend(legend, paper):
    bad = []
    for handle in legend.legend_handles:
        for _, color in colors(handle):
            if contrast(color, paper) < AREA and contrast(to_rgb(handle_edge(handle)), paper) < AREA:
                bad.append(f"legend {handle.get_label()!r} {np.round(color, 2)}: {contrast(color, paper):.2f}")
    return bad


def handle_edge(handle):
    return handle.get_markeredgecolor() if hasattr(handle, "get_markeredgecolor") else handle.get_edgecolor()
