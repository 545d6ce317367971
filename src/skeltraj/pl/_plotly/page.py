"""One HTML file that holds a picture, plotly's own code and the data, and asks for nothing else."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from .cells import Cells, CellTrace

# The data come once: traces name their cells by number, and the script puts places and texts together.
_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>__TITLE__</title>
<style>
html, body { margin: 0; height: 100%; overflow: hidden; font: 14px system-ui, sans-serif; }
#picture { width: 100%; height: 100%; }
#note { position: fixed; left: 12px; bottom: 10px; padding: 4px 8px; border: 1px solid; border-radius: 4px;
  opacity: 0.9; max-width: 90%; overflow-wrap: anywhere; }
#note code { font: 600 14px ui-monospace, monospace; user-select: all; }
</style>
</head>
<body>
<div id="picture"></div>
<div id="note" role="status"><code id="root"></code> <span id="said">Click on a node or a cell: its name for
<code>st.tl.order(adata, root=...)</code> is copied.</span></div>
<script>__PLOTLY__</script>
<script type="application/json" id="data">__DATA__</script>
<script>
"use strict";
(() => {
  const stored = JSON.parse(document.getElementById("data").textContent);
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
  const floats = (text) => new Float32Array(bytes(text));
  const integers = (text) => new Int32Array(bytes(text));
  const signs = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "%": "&#37;", "$": "&#36;"};
  const escaped = (word) => word.replace(/[&<>"%$]/g, (sign) => signs[sign]);

  const places = stored.places.map(floats);
  const texts = stored.names.map(escaped);
  for (const column of stored.columns) {
    const words = column.words.map((word) => "<br>" + escaped(column.name) + ": " + escaped(word));
    integers(column.codes).forEach((code, i) => { texts[i] += words[code]; });
  }
  const rows = stored.rows.map(integers);
  const numbers = stored.numbers.map((text) => text && floats(text));
  const of = rows.map((chosen) => {
    const part = {text: Array.from(chosen, (row) => texts[row])};
    ["x", "y", "z"].forEach((axis, i) => { part[axis] = Float32Array.from(chosen, (row) => places[i][row]); });
    return part;
  });
  const first = stored.first;  // the number of the first trace of cells

  const picture = document.getElementById("picture");
  const note = document.getElementById("note");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const draw = () => {
    const wanted = stored.theme || (dark.matches ? "dark" : "light");
    const {data, layout, ground, ink} = JSON.parse(JSON.stringify(stored.figures[wanted]));
    data.slice(first).forEach((trace, i) => {
      Object.assign(trace, of[i]);
      if (numbers[i]) trace.marker.color = numbers[i];
    });
    if (picture.data) {  // what the reader chose stays
      picture.data.forEach((trace, i) => { data[i].visible = trace.visible; });
      layout.updatemenus = (layout.updatemenus || []).map(
        (menu, i) => ({...menu, active: picture.layout.updatemenus[i].active}));
      layout.title.text = picture.layout.title.text;
      layout.legend.title.text = picture.layout.legend.title.text;
    }
    document.documentElement.style.colorScheme = wanted;
    document.body.style.background = note.style.background = ground;
    document.body.style.color = ink;
    return Plotly.react(picture, data, layout, {responsive: true, displaylogo: false, scrollZoom: true});
  };
  draw().then(() => {
    picture.on("plotly_click", (event) => {
      const {curveNumber, pointNumber, customdata} = event.points[0];
      const root = curveNumber >= first ? stored.names[rows[curveNumber - first][pointNumber]] : customdata;
      if (root === undefined) return;
      const said = "root=" + JSON.stringify(root);
      document.getElementById("root").textContent = said;
      const tell = (words) => { document.getElementById("said").textContent = words; };
      tell("");
      navigator.clipboard.writeText(said).then(() => tell("copied"), () => {});
    });
    if (!stored.theme) dark.addEventListener("change", draw);
    addEventListener("message", (event) => {  // of a page around this one, which has a theme of its own
      if (event.source !== parent || !Object.hasOwn(stored.figures, event.data)) return;
      stored.theme = event.data;
      if (document.documentElement.style.colorScheme !== event.data) draw();
    });
    if (parent !== window) parent.postMessage("drawn", "*");
    document.body.dataset.drawn = "yes";
  });
})();
</script>
</body>
</html>
"""


def page(
    title: str,
    cells: Cells,
    traces: Sequence[CellTrace],
    figures: Mapping[str, Mapping[str, Any]],
    *,
    theme: str | None,
) -> str:
    """The page, as text.

    Parameters
    ----------
    title
        Of the window.
    cells, traces
        The cells, and which of them each trace shows.
    figures
        For each theme `data` (the traces of the skeleton, then those of cells, without what the cells themselves say),
        `layout`, `ground` and `ink`.
    theme
        The one to show; None: what the reader's browser prefers.
    """
    from plotly.offline import get_plotlyjs

    first = len(next(iter(figures.values()))["data"]) - len(traces)
    data = dict(
        places=[_packed(column, "<f4") for column in cells.points.T],
        names=[str(name) for name in cells.names],
        columns=[_column(name, words) for name, words in cells.columns.items()],
        rows=[_packed(trace.rows, "<i4") for trace in traces],
        numbers=[None if trace.numbers is None else _packed(trace.numbers, "<f4") for trace in traces],
        first=first,
        figures=figures,
        theme=theme,
    )
    parts = {"__TITLE__": html.escape(title), "__PLOTLY__": get_plotlyjs(), "__DATA__": _json(data)}
    return re.sub("|".join(parts), lambda found: parts[found[0]], _PAGE)  # once: the parts hold whatever data hold


def _json(data: Any) -> str:
    """JSON that can stand in a script: nothing in it ends the script, and NaN is null."""
    return json.dumps(data, default=_plain, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [None if v != v else v for v in value.tolist()]
    raise TypeError(f"{type(value).__name__} cannot be written.")


def _column(name: str, words: np.ndarray) -> dict[str, Any]:
    codes, distinct = pd.factorize(words)
    return dict(name=str(name), codes=_packed(codes, "<i4"), words=[str(word) for word in distinct])


def _packed(values: np.ndarray, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")
