"""A skeleton that can be turned: its lines, and its nodes with their names."""

from __future__ import annotations

from typing import Any

import numpy as np

from skeltraj.core import Graph, Mesh, PlacedSkeleton

from .text import escaped
from .theme import Theme

_SHADES = 5  # of the lines of a mesh, by the rank of their weights


def line_traces(placed: PlacedSkeleton, weights: np.ndarray | None, theme: Theme) -> list[dict[str, Any]]:
    """The lines of a skeleton in ink; those of learned similarities thin, the darker the more similar."""
    graph, nodes = placed.graph, placed.nodes
    if not isinstance(graph, Mesh):
        return [_lines([placed.along(path) for path in graph.branches], dict(color=theme.ink, width=5))]
    assert weights is not None
    rank = np.argsort(np.argsort(weights, kind="stable"), kind="stable") * _SHADES // max(1, len(weights))
    shades = [0.08 + 0.5 * (shade + 0.5) / _SHADES for shade in range(_SHADES)]
    return [
        _lines(nodes[graph.edges[rank == i]], dict(color=theme.faded(shade), width=1))
        for i, shade in enumerate(shades)
        if (rank == i).any()
    ]


def _lines(paths: Any, style: dict[str, Any]) -> dict[str, Any]:
    """Lines along paths, apart from each other."""
    gap = np.full((1, 3), np.nan, dtype=np.float32)
    joined = np.concatenate([piece for path in paths for piece in (path, gap)] or [gap]).astype(np.float32)
    x, y, z = joined.T
    place = dict(x=x.copy(), y=y.copy(), z=z.copy())
    return dict(type="scatter3d", mode="lines", hoverinfo="skip", showlegend=False, line=style, **place)


def node_trace(
    graph: Graph, nodes: np.ndarray, root: int | None, pseudotime: np.ndarray | None, theme: Theme, *, every: bool
) -> dict[str, Any]:
    """Nodes as marks with what to give as `root` of `tl.order` for each; tips and forks alone, or `every` one."""
    named = graph.node_names
    chosen = np.arange(graph.n_nodes) if every else np.unique([*named, *([] if root is None else [root])]).astype(int)
    sizes = [9.0 if node == root else 6.0 if node in named else 3.0 for node in chosen]
    symbols = ["diamond" if node == root else "circle" for node in chosen]
    roots: list[Any] = [named.get(node, node) for node in chosen.tolist()]
    texts = []
    for node, of in zip(chosen.tolist(), roots, strict=True):
        lines = [f"<b>{escaped(of)}</b>" if node in named else f"node {node}"]
        if node == root:
            lines[0] += ", the root"
        if pseudotime is not None and np.isfinite(pseudotime[node]):
            lines.append(f"pseudotime {pseudotime[node]:.4g}")
        texts.append("<br>".join(lines))
    x, y, z = nodes[chosen].astype(np.float32).T
    return dict(
        type="scatter3d",
        mode="markers",
        x=x.copy(),
        y=y.copy(),
        z=z.copy(),
        text=texts,
        customdata=roots,
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
        marker=dict(size=sizes, symbol=symbols, color=theme.ink, opacity=1, line=dict(color=theme.ground, width=1)),
    )


def name_notes(graph: Graph, nodes: np.ndarray, root: int | None, theme: Theme) -> list[dict[str, Any]]:
    """The names of tips and forks beside their nodes, and which is the root."""
    words = {node: escaped(name) for node, name in graph.node_names.items()}
    if root is not None:
        words[root] = f"{words[root]} (root)" if root in words else "root"
    return [
        dict(
            text=f"<b>{text}</b>",
            **dict(zip("xyz", nodes[node].tolist(), strict=True)),
            showarrow=False,
            xanchor="left",
            xshift=7,
            font=dict(size=12, color=theme.ink),
            bgcolor=theme.ground,
            opacity=0.85,
            borderpad=1,
        )
        for node, text in words.items()
        if np.isfinite(nodes[node]).all()
    ]
