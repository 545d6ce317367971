"""Texts about the data and the skeleton that a function is given."""

from __future__ import annotations

TEXTS = {
    "adata": """\
adata
    Annotated data.""",
    "adata_fitted": """\
adata
    Annotated data with a fitted skeleton.""",
    "adata_ordered": """\
adata
    Annotated data with ordered cells.""",
    "key": """\
key
    `key_added` of the fit.""",
    "graph": """\
graph
    The skeleton.""",
    "position": """\
position
    Positions of the points on it.""",
}
