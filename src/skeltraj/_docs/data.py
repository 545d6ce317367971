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
    "direction_level": """\
Level of the test, at 0.05, for random vectors and scores that were averaged over 30 neighbours (500 draws of each, on
branches of 142 to 572 cells of two simulated trees): 0.02 to 0.07 with the neighbours over which they were averaged, up
to 0.15 with those in another space, and 0.7 to 0.8 if they are taken for values as measured. Permuting stretches of the
branches had up to 0.4: in many dimensions the neighbours of a cell reach over a large part of its branch.""",
}
