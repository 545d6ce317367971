"""Names of groups, genes and keys are drawn as they are written, whatever formulas they seem to hold."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import LogNorm
from matplotlib.text import Text

from samples import cells
from skeltraj import pl, tl

FORMULAS = ["$x$", "$\\frac", "a$\\frac{$b"]  # the last two are none that can be read


@pytest.fixture(scope="module")
def named():
    adata = cells(90, n_features=5)
    adata.var_names = [*FORMULAS, "gene3", "gene4"]
    adata.obs["$kind"] = pd.Categorical([FORMULAS[i % 3] for i in range(90)])
    tl.ddrtree(adata, 3, n_nodes=14, denoise=False, n_starts=1)
    tl.order(adata, {"stage": "stem"})
    tl.association(adata)
    tl.trends(adata)
    tl.composition(adata, "$kind", n_permutations=19)
    return adata


DRAW = {
    "graph": lambda a: pl.graph(a, color=["$kind", *FORMULAS], title=["$\\title$", *FORMULAS]),
    "graph, names on it": lambda a: pl.graph(a, color="$kind", legend_loc="on data"),
    "graph in 3-D": lambda a: pl.graph(a, color="$kind", components=(0, 1, 2)),
    "dendrogram": lambda a: pl.dendrogram(a, color="$kind"),
    "adjacency": lambda a: pl.adjacency(a, groupby="$kind"),
    "composition": lambda a: pl.composition(a, "$kind"),
    "heatmap": lambda a: pl.heatmap(a),
    "trends": lambda a: pl.trends(a, FORMULAS[1]),
    "volcano": lambda a: pl.volcano(a),
}


@pytest.mark.parametrize("name", DRAW)
def test_names_that_look_like_formulas_are_drawn_as_they_are(name, named):
    DRAW[name](named)
    [number] = plt.get_fignums()
    figure = plt.figure(number)
    figure.canvas.draw()  # where a formula that cannot be read would be an error
    texts = [text for text in figure.findobj(Text) if "$" in text.get_text()]
    assert texts
    assert not [text.get_text() for text in texts if text.get_parse_math()]


def test_numbers_and_what_the_user_writes_are_formulas(named):
    before = plt.rcParams["text.parse_math"]
    axes = [pl.objective(named, log=True), pl.graph(named, color="gene3", norm=LogNorm(1e-3, 10))]
    assert plt.rcParams["text.parse_math"] == before
    for ax in axes:
        ax.set_title("$\\alpha$")
        assert ax.title.get_parse_math()
        ax.figure.canvas.draw()
        numbers = [text for text in ax.figure.findobj(Text) if "mathdefault" in text.get_text()]
        assert numbers
        assert all(text.get_parse_math() for text in numbers)


def test_every_picture_is_drawn_so():
    for name in pl.__all__:
        source = Path(inspect.getsourcefile(inspect.unwrap(getattr(pl, name)))).read_text(encoding="utf-8")
        assert bool(re.search(rf"^@names_as_written\(\)\ndef {name}\(", source, re.M)) == (
            name not in ("graph_3d", "report")
        )
